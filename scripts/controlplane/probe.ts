import { request } from "node:https";
import type { Certificate } from "./certificates.ts";

/** The server to ask, and the credentials. */
export interface ProbeTarget {
  server: string;
  caPem: string;
  client: Certificate;
}

/** The status of one GET, or 0 without an answer within two seconds. */
export const probe = ({ server, caPem, client }: ProbeTarget, path: string): Promise<number> =>
  new Promise((resolve) => {
    const call = request(
      new URL(path, server),
      { ca: caPem, cert: client.cert, key: client.key, agent: false, timeout: 2_000 },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    call.on("timeout", () => call.destroy());
    call.on("close", () => resolve(0));
    call.on("error", () => resolve(0));
    call.end();
  });

/** True when an HTTP server on a unix socket answers 200 to a GET. */
export const probeSocket = async (socket: string, path: string): Promise<boolean> => {
  try {
    using connection = await Deno.connect({ transport: "unix", path: socket });
    const ask = `GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`;
    await connection.write(new TextEncoder().encode(ask));
    const buffer = new Uint8Array(64);
    const length = await connection.read(buffer) ?? 0;
    return /^HTTP\/1\.\d 200 /.test(new TextDecoder().decode(buffer.subarray(0, length)));
  } catch {
    return false;
  }
};
