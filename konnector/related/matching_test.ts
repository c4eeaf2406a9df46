import assert from "node:assert/strict";
import { LABELS } from "../../common/api/names.ts";
import { selectedBy, sourceSelection } from "./matching.ts";
import { allowedBy } from "./never_copied.ts";
import type { BoundRule } from "./rules_of.ts";

const NOTHING = allowedBy([]);
const rule = (
  binding: string,
  selector: BoundRule["selector"] = {},
  namespace?: string,
): BoundRule => ({ binding, selector, namespace });
const labelled = (app: string) => ({ labelSelector: { matchLabels: { app } } });
const place = (name: string, labels: Record<string, string> = {}, namespace = "default") => ({
  name,
  namespace,
  labels,
});

Deno.test("selectedBy() wants names and labels to match", () => {
  const rules = [rule("b", { ...labelled("x"), names: ["a"] })];
  assert.equal(selectedBy(place("a", { app: "x" }), rules, NOTHING), "b");
  assert.equal(selectedBy(place("a", { app: "y" }), rules, NOTHING), undefined);
  assert.equal(selectedBy(place("c", { app: "x" }), rules, NOTHING), undefined);
  assert.equal(selectedBy(place("a"), [rule("b", { names: [] })], NOTHING), "b", "all");
  assert.equal(selectedBy(place("a"), [], NOTHING), undefined);
});

Deno.test("selectedBy() names the first rule that matches, in the namespace of its binding", () => {
  const rules = [rule("own", {}, "here"), rule("first", labelled("x")), rule("second")];
  assert.equal(selectedBy(place("a", {}, "here"), rules, NOTHING), "own");
  assert.equal(selectedBy(place("a", { app: "x" }, "there"), rules, NOTHING), "first");
  assert.equal(selectedBy(place("a", {}, "there"), rules, NOTHING), "second");
});

Deno.test("selectedBy() never selects copies and protected namespaces", () => {
  const all = [rule("b")];
  assert.equal(selectedBy(place("a", { [LABELS.managed]: "true" }), all, NOTHING), undefined);
  assert.equal(selectedBy(place("a", {}, "kube-system"), all, NOTHING), undefined);
  assert.equal(selectedBy(place("a", {}, "xbind"), all, NOTHING), undefined);
});

Deno.test("selectedBy() never selects names that no cluster stores", () => {
  for (
    const [name, namespace] of [["../a", "n"], ["A", "n"], ["a/b", "n"], ["a", "n/m"], ["a", ""]]
  ) {
    assert.equal(selectedBy(place(name ?? "", {}, namespace), [rule("b")], NOTHING), undefined);
  }
});

Deno.test("sourceSelection() selects in the API server what all rules have in common", () => {
  const select = (rules: BoundRule[], reach?: string) =>
    sourceSelection(rules, "configmaps", reach, NOTHING);
  const unmanaged = `${LABELS.managed}!=true`;
  assert.deepEqual(select([rule("a", labelled("x")), rule("b", labelled("x"))]), {
    labelSelector: `app=x,${unmanaged}`,
  });
  assert.deepEqual(select([rule("a", labelled("x")), rule("b")]), { labelSelector: unmanaged });
  assert.deepEqual(select([rule("a", { names: ["n"] }, "here")]), {
    labelSelector: unmanaged,
    fieldSelector: "metadata.name=n",
    namespace: "here",
  });
  assert.deepEqual(select([rule("a", { names: ["n", "m"] })], "boundary"), {
    labelSelector: unmanaged,
    namespace: "boundary",
  });
  const { fieldSelector } = sourceSelection([rule("a")], "secrets", undefined, NOTHING);
  assert.match(fieldSelector ?? "", /type!=bootstrap/);
});
