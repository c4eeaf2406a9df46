import type { Context, Handler } from "hono";
import { EMBEDDED_FILES, type EmbeddedFile } from "../../../ui/embedded.ts";
import { gzipOnce } from "../../../common/http/gzip_once.ts";
import type { Env } from "../env.ts";
import { chooseBytes } from "./send_bytes.ts";

/** Serves one page of the browser UI; browsers revalidate it every time. */
export function staticPage(path: "/" | "/login"): Handler<Env> {
  const file = EMBEDDED_FILES.find((each) => each.path === path);
  if (!file) {
    throw new Error(
      `Cannot serve the page ${path}: the UI was built without it`,
    );
  }
  const send = sender(file);
  return (c) => send(c);
}

/** Serves scripts, styles and the icon; their names change with their content. */
export function staticAssets(): Handler<Env> {
  const senders = new Map(EMBEDDED_FILES.map((file) => [file.path, sender(file)]));
  return (c) => senders.get(c.req.path)?.(c) ?? c.notFound();
}

function sender(file: EmbeddedFile): (c: Context<Env>) => Response {
  const plain = new TextEncoder().encode(file.text);
  const { etag, contentType } = file;
  const kept = { plain, zipped: gzipOnce(plain, 9), etag, contentType };
  const cacheControl = file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache";
  return (c) => {
    c.header("Cache-Control", cacheControl);
    c.header("Vary", "Accept-Encoding");
    const body = chooseBytes(c, kept);
    return body ? c.body(body) : c.body(null, 304);
  };
}
