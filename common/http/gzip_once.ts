import { gzipSync } from "node:zlib";

/** Returns a function that compresses the bytes on its first call and keeps the result. */
export function gzipOnce(
  bytes: Uint8Array<ArrayBuffer>,
  level: number,
): () => Uint8Array<ArrayBuffer> {
  let zipped: Uint8Array<ArrayBuffer> | undefined;
  return () => zipped ??= new Uint8Array(gzipSync(bytes, { level }));
}
