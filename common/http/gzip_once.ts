import { gzipSync } from "node:zlib";

/** These bytes compressed, when that is first asked for; later calls give the same. */
export function gzipOnce(
  bytes: Uint8Array<ArrayBuffer>,
  level: number,
): () => Uint8Array<ArrayBuffer> {
  let zipped: Uint8Array<ArrayBuffer> | undefined;
  return () => zipped ??= new Uint8Array(gzipSync(bytes, { level }));
}
