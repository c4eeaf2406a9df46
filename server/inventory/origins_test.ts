import assert from "node:assert/strict";
import { type Origins, reusing } from "./origins.ts";

const origins = (displayName: string, problems = "[]"): Origins => ({
  identities: new Map([["/u", displayName]]),
  clusterNames: new Map([["/u", "prod"]]),
  exportByGrant: new Map([["pg-ada", "pg"]]),
  problems: new Map([["pg", problems]]),
  moreProblems: new Map(),
});

Deno.test("reusing() takes the texts that did not change, and all that is new", () => {
  const before = origins("ada");
  const now = origins("Ada", "[1]");
  const used = reusing(before, now);
  assert.deepEqual(used, now);
  assert.equal(used.identities, now.identities);
  assert.equal(used.clusterNames, before.clusterNames);
  assert.equal(used.exportByGrant, before.exportByGrant);
});
