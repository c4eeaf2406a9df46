import type { ConsumerRecord } from "./records.ts";

type Holder = Pick<ConsumerRecord, "content">;

/** Contents that wait to be synced take at most this much memory. Others are read again. */
const MOST_LENGTH = 32 * 1024 * 1024;

/** Bounds the memory of contents that wait to be synced. */
export class Contents {
  #length = 0;
  #listedLength = 0;
  readonly #mostLength: number;

  constructor(mostLength = MOST_LENGTH) {
    this.#mostLength = mostLength;
  }

  /** Keeps the content of an object that is held from now on, if there is room for it. */
  hold(object: Holder): void {
    const { length = 0 } = object.content ?? {};
    if (this.#length + length > this.#mostLength) object.content = undefined;
    else this.#length += length;
  }

  /** Drops the content of an object that is held. */
  drop(object: Holder): void {
    this.#length -= object.content?.length ?? 0;
    object.content = undefined;
  }

  /** Drops the content of an object in the first list, if the list has had too much already. */
  trim(object: Holder): void {
    this.#listedLength += object.content?.length ?? 0;
    if (this.#listedLength > this.#mostLength) object.content = undefined;
  }
}
