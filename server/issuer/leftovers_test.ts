import assert from "node:assert/strict";
import type { Change } from "../../common/kube/cache.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { LABELS } from "../../common/api/names.ts";
import { Leftovers } from "./leftovers.ts";

/** A cache without anything but its listeners. */
class Told {
  #listener: (change: Change<MetadataObject>) => void = () => {};

  onChange(listener: (change: Change<MetadataObject>) => void): void {
    this.#listener = listener;
  }

  tell(change: Change<MetadataObject>): void {
    this.#listener(change);
  }
}

const of = (grant?: string): MetadataObject => ({
  metadata: { name: "any", ...(grant === undefined ? {} : { labels: { [LABELS.grant]: grant } }) },
});

Deno.test("Leftovers has a Grant as long as one cache has something of it", () => {
  const [roles, accounts] = [new Told(), new Told()];
  const leftovers = new Leftovers([roles, accounts]);
  assert.equal(leftovers.has("a"), false);
  roles.tell({ after: of("a") });
  accounts.tell({ after: of("a") });
  roles.tell({ before: of("a"), after: of("a") });
  roles.tell({ before: of("a") });
  assert.equal(leftovers.has("a"), true);
  accounts.tell({ before: of("a") });
  assert.equal(leftovers.has("a"), false);
});

Deno.test("Leftovers follows a label to another Grant, and knows nothing of unlabelled objects", () => {
  const roles = new Told();
  const leftovers = new Leftovers([roles]);
  roles.tell({ after: of("a") });
  roles.tell({ before: of("a"), after: of("b") });
  assert.deepEqual([leftovers.has("a"), leftovers.has("b")], [false, true]);
  roles.tell({ before: of("b"), after: of() });
  assert.equal(leftovers.has("b"), false);
});
