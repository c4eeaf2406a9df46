import { Buffer } from "node:buffer";

/** The status and headers of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** Returns a header by its lower-case name. Repeated headers are joined by commas. */
  header(name: string): string | undefined;
}

/** Called with the head. Returns a function that receives the body, part by part. */
export type OnHead = (head: AnswerHead) => (part: Buffer) => void;

const MAX_HEAD_BYTES = 16 * 1024;
/** The longest line with the size of a chunk. */
const MAX_LINE_BYTES = 256;
/** The most heads before an answer, such as `103 Early Hints`, and trailers after it. */
const MAX_ASIDES = 10;
/** A status line and headers, each on one line, with valid characters only. */
const HEAD =
  /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?((?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*)$/;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;|$)/;
const LINE_END = "\r\n";
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * Parses one answer of an HTTP/1.1 server, however it is split into packets. Throws for anything
 * that a server must not send, and for a head or a chunk size without end.
 */
export class HttpAnswer {
  readonly #onHead: OnHead;
  #head: AnswerHead = { status: 0, header: () => undefined };
  #onPart: (part: Buffer) => void = () => {};
  #take: (bytes: Buffer) => number = (bytes) => this.#takeHead(bytes);
  /** Bytes of a head or a line whose end has not arrived. */
  #held: Buffer | undefined;
  #asides = 0;
  /** Bytes missing from the body, or from the current chunk. */
  #bytesLeft = 0;
  #endsWithConnection = false;
  #isComplete = false;
  #isStopped = false;
  #leavesOpen = true;

  constructor(onHead: OnHead) {
    this.#onHead = onHead;
  }

  /** The head; status 0 before it has arrived. */
  get head(): AnswerHead {
    return this.#head;
  }

  /** Whether the whole answer has arrived. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether the connection can be reused after the answer. */
  get leavesOpen(): boolean {
    return this.#leavesOpen;
  }

  /** Parses bytes that have arrived. */
  take(bytes: Buffer): void {
    let rest = this.#held ? Buffer.concat([this.#held, bytes]) : bytes;
    this.#held = undefined;
    while (rest.length > 0 && !this.#isStopped) {
      // Bytes after the answer: do not reuse the connection.
      if (this.#isComplete) return void (this.#leavesOpen = false);
      const taken = this.#take(rest);
      if (taken === 0) return void (this.#held = rest);
      rest = rest.subarray(taken);
    }
  }

  /** Discards the rest of the answer. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Called when the server closes the connection, which is the proper end of some answers. */
  end(): void {
    if (this.#endsWithConnection) this.#isComplete = true;
  }

  #takeHead(bytes: Buffer): number {
    const length = bytes.indexOf(HEAD_END);
    if (length > MAX_HEAD_BYTES || (length < 0 && bytes.length > MAX_HEAD_BYTES)) {
      fail(`the head of the answer is larger than ${MAX_HEAD_BYTES} bytes`);
    }
    if (length < 0) return 0;
    // Decode the head only: its headers keep the whole text alive.
    const [, minor, digits, headers = ""] = HEAD.exec(bytes.toString("latin1", 0, length)) ??
      fail("the answer is not HTTP");
    const status = Number(digits);
    if (status === 101) fail("the server changed the protocol");
    if (status < 200) {
      if (++this.#asides > MAX_ASIDES) fail("the server only announces its answer");
      return length + HEAD_END.length;
    }
    const fields = asFields(headers);
    this.#head = { status, header: (name) => fields.get(name) };
    this.#leavesOpen = minor === "1" && !/\bclose\b/i.test(this.#head.header("connection") ?? "");
    this.#onPart = this.#onHead(this.#head);
    this.#beginBody(this.#head);
    return length + HEAD_END.length;
  }

  #beginBody({ status, header }: AnswerHead): void {
    const coding = header("transfer-encoding");
    const length = header("content-length");
    if (status === 204 || status === 304) this.#isComplete = true;
    else if (coding !== undefined) {
      if (coding.toLowerCase() !== "chunked" || length !== undefined) {
        fail("the server does not say how long its answer is");
      }
      this.#take = (bytes) => this.#takeChunkSize(bytes);
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length)) fail("the server does not say how long its answer is");
      this.#bytesLeft = Number(length);
      this.#isComplete = this.#bytesLeft === 0;
      this.#take = (bytes) => this.#takeBody(bytes);
    } else {
      this.#endsWithConnection = true;
      this.#leavesOpen = false;
      this.#bytesLeft = Infinity;
      this.#take = (bytes) => this.#takeBody(bytes);
    }
  }

  #takeBody(bytes: Buffer): number {
    const taken = this.#handOn(bytes);
    this.#isComplete = this.#bytesLeft === 0;
    return taken;
  }

  #handOn(bytes: Buffer): number {
    const part = bytes.length > this.#bytesLeft ? bytes.subarray(0, this.#bytesLeft) : bytes;
    this.#bytesLeft -= part.length;
    this.#onPart(part);
    return part.length;
  }

  #takeChunkSize(bytes: Buffer): number {
    const length = lineLength(bytes);
    if (length < 0) return 0;
    const [, digits = ""] = CHUNK_LINE.exec(bytes.toString("latin1", 0, length)) ??
      fail("the server does not say how long its answer is");
    this.#bytesLeft = parseInt(digits, 16);
    this.#take = this.#bytesLeft === 0
      ? (bytes) => this.#takeTrailer(bytes)
      : (bytes) => this.#takeChunk(bytes);
    return length + LINE_END.length;
  }

  #takeChunk(bytes: Buffer): number {
    if (this.#bytesLeft > 0) return this.#handOn(bytes);
    if (bytes.length < LINE_END.length) return 0;
    if (bytes.toString("latin1", 0, LINE_END.length) !== LINE_END) {
      fail("the answer has a broken chunk");
    }
    this.#take = (bytes) => this.#takeChunkSize(bytes);
    return LINE_END.length;
  }

  /** Skips trailers after the last chunk, up to an empty line. */
  #takeTrailer(bytes: Buffer): number {
    const length = lineLength(bytes);
    if (length < 0) return 0;
    if (length === 0) this.#isComplete = true;
    else if (++this.#asides > MAX_ASIDES) fail("the answer has lines after its end");
    return length + LINE_END.length;
  }
}

/** Parses headers into lower-case names and values. Joins repeated headers by commas. */
function asFields(headers: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of headers.split(LINE_END).slice(1)) { // each follows a line end
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return fields;
}

/** Returns the length of a line without its end; -1 if the end has not arrived. */
function lineLength(bytes: Buffer): number {
  const length = bytes.indexOf(LINE_END);
  if (length > MAX_LINE_BYTES || (length < 0 && bytes.length > MAX_LINE_BYTES)) {
    fail(`the answer has a chunk size of more than ${MAX_LINE_BYTES} bytes`);
  }
  return length;
}

function fail(fault: string): never {
  throw new Error(fault);
}
