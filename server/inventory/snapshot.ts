import { createHash } from "node:crypto";
import { gzipOnce } from "../../common/http/gzip_once.ts";
import { type Built, type Clocks, Memo, type Version } from "./memo.ts";

/** An encoded answer, ready to be sent any number of times. */
export interface Answer {
  /** JSON. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Returns the body compressed, about a tenth of the size. */
  readonly zipped: () => Uint8Array<ArrayBuffer>;
  /** A strong ETag, with its quotes. */
  readonly etag: string;
  readonly builtAtMs: number;
}

/** Higher levels take twice the time and save a few per cent. */
const GZIP_LEVEL = 3;

/** Keeps the encoded answer of one view; `Memo` says when it is rebuilt. */
export class Snapshot {
  readonly #memo: Memo<Answer>;
  #last: Answer | undefined;

  constructor(clocks?: Clocks) {
    this.#memo = new Memo(clocks);
  }

  /** The memory that the answer takes. */
  get sizeBytes(): number {
    return this.#last?.body.byteLength ?? 0;
  }

  /** Returns the answer for this version of the sources, or a very recent one. */
  get(version: Version, build: (nowMs: number) => Built<string>): Answer {
    return this.#memo.get(version, (nowMs) => {
      const { value, ...rest } = build(nowMs);
      const encoded = encode(value, nowMs);
      // Keep the bytes, and their compressed form, if the text did not change.
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
