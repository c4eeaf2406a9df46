import assert from "node:assert/strict";
import { CLUSTER_ROLES, GRANTS, SECRETS } from "../api/resources.ts";
import { collectionPath, objectPath } from "./paths.ts";

Deno.test("objectPath() builds", async (t) => {
  const CASES: [string, string][] = [
    [objectPath(SECRETS, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/secrets/b"],
    [objectPath(GRANTS, { name: "g" }), "/apis/iam.xbind.io/v1alpha1/grants/g"],
    [objectPath(GRANTS, { name: "g" }, "status"), "/apis/iam.xbind.io/v1alpha1/grants/g/status"],
    [
      objectPath(CLUSTER_ROLES, { name: "xbind:grant:a" }),
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/xbind%3Agrant%3Aa",
    ],
    [collectionPath(SECRETS), "/api/v1/secrets"],
    [collectionPath(SECRETS, "a"), "/api/v1/namespaces/a/secrets"],
  ];
  for (const [path, expected] of CASES) {
    await t.step(expected, () => assert.equal(path, expected));
  }
});

Deno.test("objectPath() refuses names that would change the path", async (t) => {
  const HOSTILE = ["", ".", "..", "a/b", "../secrets", "a%2fb", "a\nb", "a\0b", "x".repeat(254)];
  for (const name of HOSTILE) {
    await t.step(JSON.stringify(name.slice(0, 20)), () => {
      assert.throws(() => objectPath(GRANTS, { name }), { reason: "InvalidName" });
      assert.throws(() => objectPath(SECRETS, { namespace: name, name: "a" }), {
        reason: "InvalidName",
      });
    });
  }
  await t.step("a missing or superfluous namespace", () => {
    assert.throws(() => objectPath(SECRETS, { name: "a" }), { reason: "InvalidName" });
    assert.throws(() => collectionPath(GRANTS, "a"), { reason: "InvalidName" });
  });
});

Deno.test("objectPath() keeps queries and fragments inside the name", () => {
  const path = objectPath(GRANTS, { name: "a?b#c d" });
  assert.equal(new URL(path, "https://h").pathname, path);
  assert.equal(new URL(path, "https://h").search, "");
});
