import type { Context } from "hono";
import type http from "node:http";
import type { Env } from "../env.ts";

/** A prepared body that is sent many times. */
export interface KeptBytes {
  readonly plain: Uint8Array<ArrayBuffer>;
  /** The same bytes compressed; computed on the first call. */
  readonly zipped: () => Uint8Array<ArrayBuffer>;
  /** Strong, of the plain bytes, with its quotes. */
  readonly etag: string;
  readonly contentType: string;
}

/** Answers with the bytes, or with 304 if the caller has them. `sentDirectly` writes the body. */
export function sendBytes(c: Context<Env>, kept: KeptBytes): Response {
  const body = chooseBytes(c, kept);
  if (!body) return c.body(null, 304);
  c.header("Content-Length", String(body.byteLength));
  const response = c.body(null);
  bodies.set(response, body);
  return response;
}

/** Sets the headers and returns the bytes that the caller accepts; undefined if it has them. */
export function chooseBytes(
  c: Context<Env>,
  kept: KeptBytes,
): Uint8Array<ArrayBuffer> | undefined {
  const isZipped = acceptsGzip(c.req.header("Accept-Encoding"));
  const etag = isZipped ? kept.etag.replace(/"$/, '-gz"') : kept.etag; // other bytes, other tag
  c.header("ETag", etag);
  if (isKnown(etag, c.req.header("If-None-Match"))) return undefined;
  c.header("Content-Type", kept.contentType);
  if (isZipped) c.header("Content-Encoding", "gzip");
  return isZipped ? kept.zipped() : kept.plain;
}

/**
 * Writes an answer of `sendBytes` straight to the connection, because a web Response would copy the
 * bytes for every caller. Returns false for any other answer.
 */
export function sentDirectly(response: Response, outgoing: http.ServerResponse): boolean {
  const body = bodies.get(response);
  if (!body) return false;
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(body);
  return true;
}

const bodies = new WeakMap<Response, Uint8Array>();

/** Whether the header names gzip without `q=0`. */
export const acceptsGzip = (header = ""): boolean =>
  header.split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    return name === "gzip" && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });

const isKnown = (etag: string, header = ""): boolean =>
  header.trim() === "*" ||
  header.split(",").map((tag) => tag.trim().replace(/^W\//, "")).includes(etag);
