import { createHash } from "node:crypto";
import { gzipOnce } from "../../common/http/gzip_once.ts";
import { type Built, type Clocks, Memo, type Version } from "./memo.ts";

/** An answer as it goes over the wire, ready to be sent any number of times. */
export interface Answer {
  /** JSON. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The same, compressed: lists repeat themselves, so it is a tenth of the size. */
  readonly zipped: () => Uint8Array<ArrayBuffer>;
  /** Strong, with its quotes: the same text means the same bytes. */
  readonly etag: string;
  readonly builtAtMs: number;
}

/** Higher levels take twice the time for a few per cent. */
const GZIP_LEVEL = 3;

/** The encoded answer of one view; see `Memo` for when it is made anew. */
export class Snapshot {
  readonly #memo: Memo<Answer>;
  #last: Answer | undefined;

  constructor(clocks?: Clocks) {
    this.#memo = new Memo(clocks);
  }

  /** How much memory the answer takes. */
  get sizeBytes(): number {
    return this.#last?.body.byteLength ?? 0;
  }

  /** The answer for this version of the sources, or a very recent one; `build` gives JSON. */
  get(version: Version, build: (nowMs: number) => Built<string>): Answer {
    return this.#memo.get(version, (nowMs) => {
      const { value, ...rest } = build(nowMs);
      const encoded = encode(value, nowMs);
      // The bytes that are sent already stay the ones that are sent.
      const answer = encoded.etag === this.#last?.etag
        ? { ...this.#last, builtAtMs: nowMs }
        : encoded;
      this.#last = answer;
      return { ...rest, value: answer };
    });
  }
}

function encode(json: string, builtAtMs: number): Answer {
  const body = new TextEncoder().encode(json);
  const digest = createHash("sha256").update(body).digest("base64url");
  return { body, zipped: gzipOnce(body, GZIP_LEVEL), etag: `"${digest}"`, builtAtMs };
}
