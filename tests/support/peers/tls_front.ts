import net from "node:net";
import tls from "node:tls";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";

/** A TLS front of a gateway. */
export interface TlsFront extends AsyncDisposable {
  readonly port: number;
  /** The file of its authority's certificate, for `--ca-file`. */
  readonly caFile: string;
}

/** Accepts TLS connections for these names, and forwards their content to the server at `url`. */
export async function startTlsFront(url: string, names: [string, ...string[]]): Promise<TlsFront> {
  const authority = await createAuthority("front of a test");
  const caFile = await Deno.makeTempFile({ prefix: "xbind-front-", suffix: ".pem" });
  await Deno.writeTextFile(caFile, authority.cert);
  const target = new URL(url);
  const sockets = new Set<net.Socket>();
  const server = tls.createServer(await issueServerCertificate(authority, names), (client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    for (const [socket, peer] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => peer.destroy());
      socket.pipe(peer);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    caFile,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Deno.remove(caFile);
    },
  };
}
