import assert from "node:assert/strict";
import { konnectorVersions, problemsText } from "./cluster_label.ts";

Deno.test("problemsText() names only what there is", () => {
  const text = (conflicts: number, rejected: number) =>
    problemsText({ sync: { objects: 9, conflicts, rejected } });
  assert.equal(text(1, 2), "1 in conflict, 2 rejected");
  assert.equal(text(0, 1), "1 rejected");
  assert.equal(text(0, 0), "");
  assert.equal(problemsText({}), "");
});

Deno.test("konnectorVersions() lists each version once", () => {
  const binding = { grant: "g", export: "e", lastHeartbeat: "", live: true, apis: [] };
  const versions = ["1.0.0", undefined, "1.1.0", "1.0.0"].map((version) =>
    version === undefined ? binding : { ...binding, konnectorVersion: version }
  );
  assert.deepEqual(konnectorVersions({ bindings: versions }), ["1.0.0", "1.1.0"]);
});
