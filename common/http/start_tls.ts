import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type SecureContextOptions, type TLSSocket } from "node:tls";
import { whenReady } from "./when_ready.ts";

/** Who the server must prove to be, and by which certificates. */
export interface TlsOptions extends SecureContextOptions {
  /** A host name, which is also sent to the server, or an IP address, which is only verified. */
  readonly serverName: string;
  /** False only where a kubeconfig says so; no environment variable changes it. */
  readonly rejectUnauthorized?: boolean;
}

/** Speaks TLS on an open connection. Rejects and closes it when the server is not trusted. */
export async function startTls(
  socket: Duplex,
  { serverName, rejectUnauthorized = true, ...secure }: TlsOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  try {
    const secured = connect({
      ...secure,
      rejectUnauthorized, // always given: NODE_TLS_REJECT_UNAUTHORIZED would decide otherwise
      host: serverName,
      ...(isIP(serverName) ? {} : { servername: serverName }),
      socket,
    });
    failInsteadOfThrowing(secured);
    await whenReady(secured, "secureConnect", signal);
    return secured;
  } catch (error) {
    socket.destroy(); // TLS may refuse its own options after TCP has connected
    throw error;
  }
}

/**
 * Turns what a listener throws into an ordinary failure of the connection. Deno's own listener reads
 * the server's certificates and throws over those that it cannot read, which would end the process.
 */
function failInsteadOfThrowing(socket: TLSSocket): void {
  const emit = socket.emit;
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    try {
      return Reflect.apply(emit, socket, [event, ...args]);
    } catch (cause) {
      socket.destroy(event === "secure" ? new UnreadableCertificates(cause) : cause as Error);
      return true;
    }
  };
}

/** The server proved itself with certificates of which at least one cannot be read. */
class UnreadableCertificates extends Error {
  override readonly name = "UnreadableCertificates";
  readonly code = "CERT_UNREADABLE";

  constructor(cause: unknown) {
    super("the server's certificates cannot be read", { cause });
  }
}
