import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import { base64, configOf, submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";

/** Answers a request, or writes anything to the raw socket. */
export type HostileAnswer = (
  answer: ServerResponse,
  socket: TLSSocket,
  request: IncomingMessage,
) => unknown;

const authority = await createAuthority("hostile API server");
const certificate = await issueServerCertificate(authority, ["127.0.0.1", "localhost"]);

/** A TLS server that pretends to be a consumer's API server. */
export class HostileApiServer implements AsyncDisposable {
  readonly url: string;
  readonly caPem = authority.cert;
  /** The number of requests. */
  requests = 0;
  readonly #server: https.Server;

  private constructor(server: https.Server) {
    this.#server = server;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(answer: HostileAnswer): Promise<HostileApiServer> {
    const { cert, key } = certificate;
    const server = https.createServer({ cert, key });
    server.on("clientError", () => {});
    server.on("secureConnection", (socket: TLSSocket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const hostile = new HostileApiServer(server);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      hostile.requests++;
      for (const stream of [request, response]) stream.on("error", () => {});
      const answering = answer(response, request.socket as TLSSocket, request);
      if (answering instanceof Promise) answering.catch(() => response.destroy());
      else request.resume();
    });
    return hostile;
  }

  /** Starts a server that confirms every write. */
  static yielding(): Promise<HostileApiServer> {
    return HostileApiServer.start(async (answer, _, request) => {
      let body = "";
      for await (const part of request) body += part;
      answer.writeHead(200, { "Content-Type": "application/json" }).end(body || "{}");
    });
  }

  /** Returns a kubeconfig for it, encoded as callers send it. */
  kubeconfig(token = "bait"): string {
    const cluster = { server: this.url, "certificate-authority-data": base64(this.caPem) };
    return submitted(configOf(cluster, { token }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
