import { gzipSync } from "node:zlib";
import { type ArchiveEntry, inOrder, modeOf } from "./archive_entry.ts";

const BLOCK = 512;
const TYPE_FLAGS = { file: "0", link: "2", folder: "5" } as const;
const encoder = new TextEncoder();

/** Makes a ustar archive; the same entries and date give the same bytes. */
export function tarOf(entries: readonly ArchiveEntry[], dateSeconds: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of inOrder(entries)) {
    parts.push(headerOf(entry, dateSeconds));
    if (entry.kind !== "file") continue;
    parts.push(entry.content, new Uint8Array(-entry.content.length & (BLOCK - 1)));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return concatenated(parts);
}

/** Makes a ustar archive, compressed with gzip. */
export const tarGzOf = (entries: readonly ArchiveEntry[], dateSeconds: number): Uint8Array =>
  gzipSync(tarOf(entries, dateSeconds));

function headerOf(entry: ArchiveEntry, dateSeconds: number): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const put = (offset: number, length: number, value: string) => {
    const bytes = encoder.encode(value);
    if (bytes.length > length) throw new Error(`Cannot archive "${entry.path}": name too long`);
    header.set(bytes, offset);
  };
  const putOctal = (offset: number, length: number, value: number) =>
    put(offset, length, value.toString(8).padStart(length - 1, "0"));
  const { prefix, name } = splitName(entry.kind === "folder" ? `${entry.path}/` : entry.path);
  put(0, 100, name);
  putOctal(100, 8, modeOf(entry));
  putOctal(108, 8, 0);
  putOctal(116, 8, 0);
  putOctal(124, 12, entry.kind === "file" ? entry.content.length : 0);
  putOctal(136, 12, dateSeconds);
  put(148, 8, " ".repeat(8)); // the checksum counts its own field as spaces
  put(156, 1, TYPE_FLAGS[entry.kind]);
  if (entry.kind === "link") put(157, 100, entry.target);
  put(257, 8, "ustar\x0000");
  put(345, 155, prefix);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, 8, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header;
}

/** Splits a long name at a slash, as ustar demands. */
function splitName(path: string): { prefix: string; name: string } {
  if (encoder.encode(path).length <= 100) return { prefix: "", name: path };
  const cut = path.indexOf("/", path.length - 101);
  return cut < 0
    ? { prefix: "", name: path }
    : { prefix: path.slice(0, cut), name: path.slice(cut + 1) };
}

/** Joins parts into one array. */
export function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
