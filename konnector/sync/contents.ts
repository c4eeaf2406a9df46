import type { ConsumerRecord } from "./records.ts";

type Holder = Pick<ConsumerRecord, "content" | "carried">;

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
    const length = lengthOf(object);
    if (this.#length + length > this.#mostLength) clear(object);
    else this.#length += length;
  }

  /** Drops the content of an object that is held. */
  drop(object: Holder): void {
    this.#length -= lengthOf(object);
    clear(object);
  }

  /** Drops the content of an object in the first list, if the list has had too much already. */
  trim(object: Holder): void {
    this.#listedLength += lengthOf(object);
    if (this.#listedLength > this.#mostLength) clear(object);
  }
}

const lengthOf = ({ content, carried }: Holder): number =>
  (content?.length ?? 0) + (carried?.length ?? 0);

/** Drops the content of an object that no `Contents` holds. */
export function clear(object: Holder): void {
  object.content = undefined;
  object.carried = undefined;
}
