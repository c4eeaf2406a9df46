import type { Context } from "hono";
import { Buffer } from "node:buffer";
import { invalidRequest, tooLarge } from "../../errors.ts";
import { deadline } from "../../../common/time/deadline.ts";
import type { Env } from "../env.ts";

/** The limits of a request body. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxMs: number;
}

/** Honest requests have only a few; parsing a million would delay all other requests. */
const MAX_PARTS = 1_000;

/** Reads a JSON body within its limits; counts bytes, because chunked bodies have no length. */
export async function readJson(c: Context<Env>, limits: BodyLimits): Promise<unknown> {
  const announced = Number(c.req.header("Content-Length") ?? 0);
  if (announced > limits.maxBytes) throw tooLarge(limits.maxBytes);
  const bytes = await readBytes(c, limits);
  if (hasManyParts(bytes)) throw invalidRequest("Cannot read the request: it has too many parts");
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalidRequest("Cannot read the request: its body is not JSON in UTF-8", cause);
  }
}

/** Counts brackets, braces and commas, also in strings. No honest request is near the limit. */
function hasManyParts(bytes: Uint8Array): boolean {
  let parts = 0;
  for (let at = 0; at < bytes.length; at++) { // three times as fast as for…of
    const byte = bytes[at];
    if (byte === 0x5b || byte === 0x7b || byte === 0x2c) parts++; // [ { ,
  }
  return parts > MAX_PARTS;
}

async function readBytes(c: Context<Env>, { maxBytes, maxMs }: BodyLimits): Promise<Uint8Array> {
  const { incoming } = c.env;
  using limit = deadline(
    maxMs,
    undefined,
    invalidRequest("Cannot read the request: its body took too long"),
  );
  return await new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    limit.signal.addEventListener("abort", () => reject(limit.signal.reason), { once: true });
    incoming.on("data", (part: Uint8Array) => {
      size += part.length;
      if (size > maxBytes) {
        incoming.removeAllListeners("data");
        incoming.resume();
        reject(tooLarge(maxBytes));
      } else parts.push(part);
    });
    incoming.once("end", () => resolve(Buffer.concat(parts)));
    const breakOff = (cause?: unknown) =>
      reject(invalidRequest("Cannot read the request: the connection broke off", cause));
    incoming.once("error", breakOff);
    incoming.once("close", () => breakOff());
  });
}
