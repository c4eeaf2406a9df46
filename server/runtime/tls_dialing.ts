import type http from "node:http";
import type https from "node:https";
import net, { isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type SecureContextOptions } from "node:tls";

/** Where a connection leads, and how the server there proves who it is. */
export interface TlsDestination {
  readonly host: string;
  readonly port: number;
  readonly secure: SecureContextOptions & {
    readonly rejectUnauthorized?: boolean;
    readonly servername?: string;
  };
  /** Opens the way there; a plain TCP connection unless given. */
  readonly open?: (() => Promise<Duplex>) | undefined;
  /** Looks the host name up, instead of the system. */
  readonly lookup?: LookupFunction | undefined;
}

const CONNECT_LIMIT_MS = 15_000;

/**
 * Lets an agent connect first and speak TLS then. By itself Deno prepares TLS before, and keeps
 * 17 kB for every connection that is refused, for good: a provider that is away for an hour would
 * cost hundreds of megabytes.
 */
export function dialingFirst(agent: https.Agent, to: TlsDestination): https.Agent {
  const { host, secure, open = () => connectTcp(to) } = to;
  const nameForTls = isIP(host) ? {} : { servername: host };
  return dialingBy(agent, async () => {
    return connectTls({ host, ...nameForTls, ...secure, socket: await open() });
  });
}

/** Lets an agent get its connections from here. */
export function dialingBy<A extends http.Agent>(agent: A, dial: () => Promise<Duplex>): A {
  return Object.assign(agent, {
    createConnection(_: unknown, done: (error: Error | null, socket?: Duplex) => void) {
      dial().then((socket) => done(null, socket), done);
    },
  });
}

function connectTcp({ host, port, lookup }: TlsDestination): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port, noDelay: true, ...(lookup ? { lookup } : {}) });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(CONNECT_LIMIT_MS, () => fail(new Error("the connection timed out")));
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
