import { crc32, deflateRawSync } from "node:zlib";
import { type ArchiveEntry, inOrder, modeOf } from "./archive_entry.ts";
import { concatenated } from "./tar.ts";

type FileEntry = Extract<ArchiveEntry, { kind: "file" }>;

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL = 0x06054b50;
/** The oldest date that the format can hold: 1980. */
const FIRST_DATE_SECONDS = 315_532_800;
const UNIX = 3;
const VERSION_NEEDED = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
const encoder = new TextEncoder();

/** Makes a zip archive; the same entries and date give the same bytes. */
export function zipOf(entries: readonly FileEntry[], dateSeconds: number): Uint8Array {
  const { time, date } = dosTime(dateSeconds);
  const local: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const entry of inOrder(entries)) {
    if (entry.kind !== "file") continue;
    const name = encoder.encode(entry.path);
    const packed = deflateRawSync(entry.content);
    const common = [
      ...u16(VERSION_NEEDED, UTF8_NAMES, DEFLATED, time, date),
      ...u32(crc32(entry.content), packed.length, entry.content.length),
      ...u16(name.length, 0),
    ];
    const header = Uint8Array.from([...u32(LOCAL_HEADER), ...common]);
    local.push(header, name, packed);
    central.push(
      Uint8Array.from([
        ...u32(CENTRAL_HEADER),
        ...u16(VERSION_NEEDED | (UNIX << 8)),
        ...common,
        ...u16(0, 0, 0),
        ...u32(((0o100000 | modeOf(entry)) << 16) >>> 0, offset),
      ]),
      name,
    );
    offset += header.length + name.length + packed.length;
  }
  const centralSize = central.reduce((sum, part) => sum + part.length, 0);
  const count = central.length / 2;
  const end = Uint8Array.from([
    ...u32(END_OF_CENTRAL),
    ...u16(0, 0, count, count),
    ...u32(centralSize, offset),
    ...u16(0),
  ]);
  return concatenated([...local, ...central, end]);
}

const u16 = (...values: number[]): number[] => values.flatMap((v) => [v & 0xff, (v >>> 8) & 0xff]);
const u32 = (...values: number[]): number[] => values.flatMap((v) => u16(v & 0xffff, v >>> 16));

function dosTime(seconds: number): { time: number; date: number } {
  const at = new Date(Math.max(seconds, FIRST_DATE_SECONDS) * 1000);
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  };
}
