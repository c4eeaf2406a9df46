import assert from "node:assert/strict";
import { catalogRights, rightsIn } from "./catalog_rights.ts";

const rule = (verbs: string[], resourceNames?: string[], more: object = {}) => ({
  apiGroups: ["catalog.xbind.io"],
  resources: ["exports"],
  verbs,
  ...(resourceNames ? { resourceNames } : {}),
  ...more,
});
const answer = (resourceRules: unknown, incomplete: unknown = false) => ({
  status: { resourceRules, incomplete },
});

Deno.test("rightsIn() reads rules as RBAC does", async (t) => {
  const cases: [string, object[], "all" | string[], "all" | string[]][] = [
    ["no rules", [], [], []],
    ["one name", [rule(["get"], ["a"])], ["a"], []],
    ["several rules", [rule(["get", "bind"], ["a"]), rule(["get"], ["b"])], ["a", "b"], ["a"]],
    ["no names mean all", [rule(["get"]), rule(["bind"], ["b"])], "all", ["b"]],
    ["an empty list of names means all", [rule(["get"], [])], "all", []],
    ["a star is not a name", [rule(["get"], ["*"])], ["*"], []],
    ["any verb", [rule(["*"])], "all", "all"],
    [
      "any group and resource",
      [rule(["*"], undefined, { apiGroups: ["*"], resources: ["*"] })],
      ...[
        "all",
        "all",
      ] as const,
    ],
    ["another resource", [rule(["*"], undefined, { resources: ["collections"] })], [], []],
    ["a subresource", [rule(["*"], undefined, { resources: ["exports/status"] })], [], []],
    ["another group", [rule(["*"], undefined, { apiGroups: ["iam.xbind.io"] })], [], []],
    ["malformed rules", [{}, { verbs: "get" }, rule([1 as unknown as string])], [], []],
  ];
  for (const [name, rules, see, bind] of cases) {
    await t.step(name, () => {
      const set = (names: "all" | string[]) => names === "all" ? names : new Set(names);
      assert.deepEqual(rightsIn(answer(rules)), catalogRights(set(see), set(bind)));
    });
  }
});

Deno.test("rightsIn() trusts no incomplete or malformed list", () => {
  for (const bad of [answer([rule(["*"])], true), answer([rule(["*"])], null), {}, null]) {
    assert.equal(rightsIn(bad), undefined);
  }
  assert.equal(rightsIn(answer(null)), undefined);
});

Deno.test("rightsIn() trusts a list with errors only if these are roles that RBAC misses", () => {
  const missing = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
  const read = (evaluationError: string) =>
    rightsIn({ status: { resourceRules: [rule(["*"])], incomplete: false, evaluationError } });
  assert.ok(read(missing));
  assert.ok(read(`[${missing}, ${missing}]`));
  for (const bad of ["webhook is down", `[${missing}, webhook is down]`, `${missing} or so`]) {
    assert.equal(read(bad), undefined, bad);
  }
});

Deno.test("catalogRights() gives equal rights equal keys", () => {
  const key = (see: string[]) => catalogRights(new Set(see), "all").key;
  assert.equal(key(["a", "b"]), key(["b", "a"]));
  assert.notEqual(key(["a"]), key(["b"]));
  assert.notEqual(key([]), catalogRights("all", "all").key);
  assert.notEqual(key(["a", "b"]), key(["a\nb"]));
});
