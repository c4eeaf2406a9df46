import assert from "node:assert/strict";
import fc from "fast-check";
import type { LabelSelector, LabelSelectorRequirement } from "./resources.ts";
import {
  hasSelector,
  matchesNames,
  matchesSelector,
  selectorSummary,
  selectorText,
} from "./selector.ts";

const requirement = (
  key: string,
  operator: LabelSelectorRequirement["operator"],
  ...values: string[]
): LabelSelectorRequirement => ({ key, operator, ...(values.length > 0 ? { values } : {}) });

Deno.test("selectorText() writes a selector as kubectl does", async (t) => {
  const [hasZ, lacksA] = [requirement("z", "Exists"), requirement("a", "DoesNotExist")];
  const cases: [LabelSelector, string][] = [
    [{}, ""],
    [{ matchLabels: {}, matchExpressions: [] }, ""],
    [{ matchLabels: { app: "x" } }, "app=x"],
    [{ matchLabels: { tier: "a", app: "x", "example.org/b": "" } }, "app=x,example.org/b=,tier=a"],
    [{ matchExpressions: [requirement("tier", "In", "b", "a")] }, "tier in (a,b)"],
    [{ matchExpressions: [requirement("tier", "In", "a")] }, "tier in (a)"],
    [{ matchExpressions: [requirement("tier", "In", "")] }, "tier in ()"],
    [{ matchExpressions: [requirement("tier", "NotIn", "b", "a")] }, "tier notin (a,b)"],
    [{ matchExpressions: [requirement("tier", "Exists")] }, "tier"],
    [{ matchExpressions: [requirement("tier", "DoesNotExist")] }, "!tier"],
    [{ matchLabels: { m: "1" }, matchExpressions: [hasZ, lacksA] }, "!a,m=1,z"],
  ];
  for (const [selector, text] of cases) {
    await t.step(text || "nothing", () => assert.equal(selectorText(selector), text));
  }
});

Deno.test("selectorText() throws on a malformed selector, so that it never selects other objects", async (t) => {
  const broken: unknown[] = [
    { matchLabels: { app: 7 } },
    { matchExpressions: [{ key: "a", operator: "Like", values: ["x"] }] },
    { matchExpressions: [{ key: 7, operator: "Exists" }] },
    { matchExpressions: [{ key: "a", operator: "In", values: [7] }] },
    { matchExpressions: [null] },
    { matchExpressions: 7 },
  ];
  for (const selector of broken) {
    await t.step(JSON.stringify(selector), () => {
      assert.throws(() => selectorText(selector as LabelSelector), TypeError);
    });
  }
});

Deno.test("matchesSelector() supports all four operators", async (t) => {
  const labels = { app: "x", empty: "" };
  const cases: [LabelSelector, boolean][] = [
    [{}, true],
    [{ matchLabels: { app: "x" } }, true],
    [{ matchLabels: { app: "y" } }, false],
    [{ matchLabels: { app: "x", other: "" } }, false],
    [{ matchLabels: { toString: "x" } }, false],
    [{ matchExpressions: [requirement("app", "In", "x", "y")] }, true],
    [{ matchExpressions: [requirement("app", "In", "y")] }, false],
    [{ matchExpressions: [requirement("other", "In", "")] }, false],
    [{ matchExpressions: [requirement("empty", "In", "")] }, true],
    [{ matchExpressions: [requirement("app", "NotIn", "x")] }, false],
    [{ matchExpressions: [requirement("other", "NotIn", "x")] }, true],
    [{ matchExpressions: [requirement("empty", "Exists")] }, true],
    [{ matchExpressions: [requirement("toString", "Exists")] }, false],
    [{ matchExpressions: [requirement("other", "DoesNotExist")] }, true],
    [{ matchExpressions: [requirement("app", "DoesNotExist")] }, false],
    [{ matchLabels: { app: "x" }, matchExpressions: [requirement("app", "NotIn", "x")] }, false],
  ];
  for (const [selector, expected] of cases) {
    await t.step(`${selectorText(selector) || "everything"}: ${expected}`, () => {
      assert.equal(matchesSelector(labels, selector), expected);
    });
  }
  await t.step("an object without labels", () => {
    assert.equal(matchesSelector(undefined, { matchLabels: { app: "x" } }), false);
    assert.equal(matchesSelector(undefined, {}), true);
  });
});

/** Evaluates the text of a selector, one requirement after the other. */
function textMatches(labels: Record<string, string>, text: string): boolean {
  const parts = text.match(/[^,(]+(\([^)]*\))?/g) ?? [];
  return parts.every((part) => {
    const set = /^(\w+) (in|notin) \((.*)\)$/.exec(part);
    if (set) {
      const [, key = "", operator, list = ""] = set;
      const isIn = key in labels && list.split(",").includes(labels[key] ?? "");
      return operator === "in" ? isIn : !isIn;
    }
    if (part.startsWith("!")) return !(part.slice(1) in labels);
    const [key = "", value] = part.split("=");
    return value === undefined ? key in labels : labels[key] === value;
  });
}

Deno.test("matchesSelector() agrees with the text of the same selector", () => {
  const key = fc.constantFrom("a", "b", "c");
  const value = fc.constantFrom("x", "y", "z", "");
  const labels = fc.dictionary(key, value, { noNullPrototype: true });
  const values = fc.uniqueArray(value, { minLength: 1 });
  const expression = fc.oneof(
    fc.record({ key, operator: fc.constantFrom("In" as const, "NotIn" as const), values }),
    fc.record({ key, operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
  );
  const selector = fc.record({
    matchLabels: fc.dictionary(key, value, { noNullPrototype: true, maxKeys: 1 }),
    matchExpressions: fc.array(expression, { maxLength: 3 }),
  });
  let matched = 0;
  fc.assert(
    fc.property(labels, selector, (object, selects) => {
      const expected = textMatches(object, selectorText(selects));
      if (expected) matched++;
      assert.equal(matchesSelector(object, selects), expected);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(matched > 100, `only ${matched} samples matched`);
});

Deno.test("selectorSummary() joins labels and names", async (t) => {
  const labelSelector = { matchLabels: { app: "x" } };
  const cases: [Parameters<typeof selectorSummary>[0], string | undefined][] = [
    [undefined, undefined],
    [{}, undefined],
    [{ names: [], labelSelector: {} }, undefined],
    [{ labelSelector }, "app=x"],
    [{ names: ["b", "a"] }, "names: b, a"],
    [{ labelSelector, names: ["a", "b"] }, "app=x; names: a, b"],
  ];
  for (const [selector, summary] of cases) {
    await t.step(String(summary), () => assert.equal(selectorSummary(selector), summary));
  }
});

Deno.test("hasSelector() and matchesNames() treat an empty list of names as none", () => {
  assert.equal(hasSelector({}), false);
  assert.equal(hasSelector({ selector: {} }), false);
  assert.equal(hasSelector({ selector: { names: [] } }), false);
  assert.equal(hasSelector({ selector: { names: ["a"] } }), true);
  assert.equal(hasSelector({ selector: { labelSelector: {} } }), true);
  assert.equal(matchesNames({}, "a"), true);
  assert.equal(matchesNames({ selector: { names: [] } }, "a"), true);
  assert.equal(matchesNames({ selector: { names: ["b"] } }, "a"), false);
  assert.equal(matchesNames({ selector: { names: ["b", "a"] } }, "a"), true);
});
