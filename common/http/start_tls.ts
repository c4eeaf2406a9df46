import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type SecureContextOptions, type TLSSocket } from "node:tls";
import { whenReady } from "./when_ready.ts";

/** How to verify the server. */
export interface TlsOptions extends SecureContextOptions {
  /** A host name, which is also sent to the server, or an IP address, which is not. */
  readonly serverName: string;
  /** False only if a kubeconfig says so. No environment variable changes it. */
  readonly rejectUnauthorized?: boolean;
}

/** Starts TLS on an open connection. Rejects and closes it if the server is not trusted. */
export async function startTls(
  socket: Duplex,
  { serverName, rejectUnauthorized = true, ...secure }: TlsOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  try {
    const secured = connect({
      ...secure,
      rejectUnauthorized, // always set: otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide
      host: serverName,
      ...(isIP(serverName) ? {} : { servername: serverName }),
      socket,
    });
    failInsteadOfThrowing(secured);
    pauseBelow(secured, socket);
    await whenReady(secured, "secureConnect", signal);
    return secured;
  } catch (error) {
    socket.destroy(); // TLS may refuse its own options after TCP has connected
    throw error;
  }
}

/**
 * Turns an exception of a listener into a failure of the connection. Deno's own listener throws if
 * it cannot read a certificate of the server, which would end the process.
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

/** Pauses the connection under TLS. Deno's TLS itself reads on into memory while it is paused. */
function pauseBelow(secured: TLSSocket, socket: Duplex): void {
  const resume = secured.resume;
  secured.pause = () => {
    socket.pause();
    return secured;
  };
  secured.resume = () => {
    if (socket.isPaused()) socket.resume();
    return Reflect.apply(resume, secured, []);
  };
}

/** The server sent a certificate that cannot be read. */
class UnreadableCertificates extends Error {
  override readonly name = "UnreadableCertificates";
  readonly code = "CERT_UNREADABLE";

  constructor(cause: unknown) {
    super("the server's certificates cannot be read", { cause });
  }
}
