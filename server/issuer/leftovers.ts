import type { Change } from "../../common/kube/cache.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { LABELS } from "../../common/api/names.ts";

/** A cache of what is made for Grants. */
interface Followed {
  onChange(listener: (change: Change<MetadataObject>) => void): unknown;
}

/**
 * Counts what there is of each Grant. Every Grant that goes has to be asked about, and going through
 * all objects of 10,000 others for that takes milliseconds.
 */
export class Leftovers {
  readonly #counts = new Map<string, number>();

  /** Of caches that are still empty. */
  constructor(caches: readonly Followed[]) {
    for (const cache of caches) {
      cache.onChange(({ before, after }) => {
        if (before) this.#count(before, -1);
        if (after) this.#count(after, 1);
      });
    }
  }

  /** Whether anything is there that was made for this Grant. */
  has(grant: string): boolean {
    return this.#counts.has(grant);
  }

  #count({ metadata }: MetadataObject, by: number): void {
    const grant = metadata.labels?.[LABELS.grant];
    if (grant === undefined) return;
    const count = (this.#counts.get(grant) ?? 0) + by;
    if (count === 0) this.#counts.delete(grant);
    else this.#counts.set(grant, count);
  }
}
