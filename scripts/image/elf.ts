/** The files that a Linux executable or library needs to start. */
export interface ElfNeeds {
  /** The loader that the kernel starts first, such as `/lib64/ld-linux-x86-64.so.2`. */
  readonly interpreter?: string;
  /** Names of libraries, such as `libc.so.6`. */
  readonly libraries: readonly string[];
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1;
const DT_STRTAB = 5;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Reads the needs of a 64-bit little-endian ELF file; throws on anything else. */
export function elfNeeds(bytes: Uint8Array): ElfNeeds {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 64 || view.getUint32(0) !== 0x7f454c46) throw new Error("it is no ELF file");
  if (bytes[4] !== 2 || bytes[5] !== 1) throw new Error("it is not 64-bit little-endian ELF");
  const u64 = (offset: number): number => Number(view.getBigUint64(offset, true));
  const text = (offset: number): string =>
    new TextDecoder().decode(bytes.subarray(offset, bytes.indexOf(0, offset)));

  const segments: Segment[] = [];
  const [headers, size, count] = [u64(32), view.getUint16(54, true), view.getUint16(56, true)];
  for (let index = 0; index < count; index++) {
    const at = headers + index * size;
    segments.push({
      type: view.getUint32(at, true),
      offset: u64(at + 8),
      address: u64(at + 16),
      size: u64(at + 32),
    });
  }
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  const needed: number[] = [];
  let strings = 0;
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  for (let at = dynamic?.offset ?? 0, end = at + (dynamic?.size ?? 0); at < end; at += 16) {
    const [tag, value] = [u64(at), u64(at + 8)];
    if (tag === 0) break;
    if (tag === DT_NEEDED) needed.push(value);
    if (tag === DT_STRTAB) strings = fileOffset(segments, value);
  }
  return {
    ...(interpreter && { interpreter: text(interpreter.offset) }),
    libraries: needed.map((offset) => text(strings + offset)),
  };
}

/** Translates an address of the running program into an offset in the file. */
function fileOffset(segments: readonly Segment[], address: number): number {
  const segment = segments.find(({ type, address: start, size }) =>
    type === PT_LOAD && address >= start && address < start + size
  );
  if (!segment) throw new Error("its names of libraries are out of reach");
  return segment.offset + (address - segment.address);
}
