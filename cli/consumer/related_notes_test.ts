import assert from "node:assert/strict";
import type { RelatedResource } from "../../common/api/resources.ts";
import { copyNotes, openingNotes } from "./related_notes.ts";

const SECRETS_OUT: RelatedResource = { resource: "secrets", direction: "FromProvider" };
const SECRETS_IN: RelatedResource = { resource: "secrets", direction: "FromConsumer" };
const MAPS_OUT: RelatedResource = { resource: "configmaps", direction: "FromProvider" };
const MAPS_IN: RelatedResource = { resource: "configmaps", direction: "FromConsumer" };

Deno.test("copyNotes() describes each rule, what it selects and its direction", () => {
  const named = { ...SECRETS_OUT, selector: { names: ["ca", "b"] } };
  assert.deepEqual(copyNotes([SECRETS_OUT, MAPS_IN, named]), [
    "the konnector will also copy all secrets from the provider to this cluster",
    "the konnector will also copy all configmaps from this cluster to the provider",
    "the konnector will also copy secrets (names: ca, b) from the provider to this cluster",
  ]);
  const names = Array.from({ length: 250 }, (_, index) => `name-${index}`);
  const [long = ""] = copyNotes([{ ...SECRETS_OUT, selector: { names } }]);
  assert.ok(long.length < 300, "a long list is cut");
});

Deno.test("openingNotes() lists the rights of the credential in one note", async (t) => {
  const end =
    " of the provider, unless the provider limits it to your namespace there: keep it safe";
  const cases: [string, RelatedResource[], string?][] = [
    ["nothing", []],
    ["ConfigMaps that are read", [MAPS_OUT]],
    ["Secrets that are read", [SECRETS_OUT], "read every Secret"],
    ["Secrets that are written", [SECRETS_OUT, SECRETS_IN], "write every Secret"],
    ["ConfigMaps that are written", [MAPS_IN], "write every ConfigMap"],
    ["both", [MAPS_IN, SECRETS_OUT], "read every Secret and write every ConfigMap"],
  ];
  for (const [name, rules, may] of cases) {
    await t.step(name, () => {
      assert.deepEqual(openingNotes(rules), may ? [`the credential may ${may}${end}`] : []);
    });
  }
});
