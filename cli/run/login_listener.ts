import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { DONE_PAGE, PAGE_HEADERS, REFUSED_PAGE } from "./login_page.ts";

/** A local HTTP server that waits for the browser to deliver a token. */
export interface LoginListener extends AsyncDisposable {
  /** The URL to which the gateway redirects the browser. */
  readonly redirect: string;
}

/** Returns whether a token is valid; called again after an invalid one. */
export type AcceptToken = (token: string) => Promise<boolean>;

const MAX_URL = 32_768;
const HEADERS_MS = 10_000;

/**
 * Listens on a free loopback port. Accepts only a GET of its own random path with a token; answers
 * everything else with an empty 404.
 */
export const startLoginListener = async (accept: AcceptToken): Promise<LoginListener> => {
  const path = `/${randomBytes(24).toString("base64url")}`;
  const pages = new Set<Promise<void>>();
  const server = http.createServer({ headersTimeout: HEADERS_MS }, (request, answer) => {
    const token = request.method === "GET" ? tokenIn(request.url ?? "", path) : undefined;
    if (token === undefined) return void answer.writeHead(404, { Connection: "close" }).end();
    const shown = accept(token).then(
      (isGood) => show(answer, isGood ? 200 : 401, isGood ? DONE_PAGE : REFUSED_PAGE),
      () => show(answer, 502, REFUSED_PAGE),
    );
    pages.add(shown);
    shown.finally(() => pages.delete(shown));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    redirect: `http://127.0.0.1:${port}${path}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(pages); // let the browser receive its last page
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};

const tokenIn = (url: string, path: string): string | undefined => {
  const [asked = "", query = ""] = url.slice(0, MAX_URL).split("?", 2);
  const [given, own] = [Buffer.from(asked), Buffer.from(path)];
  if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
  return new URLSearchParams(query).get("token") || undefined;
};

/** Resolves when the page was sent, or the browser disconnected. */
const show = (answer: http.ServerResponse, status: number, page: string): Promise<void> =>
  new Promise((resolve) => {
    answer.once("close", resolve);
    answer.writeHead(status, PAGE_HEADERS).end(page, () => resolve());
  });
