import assert from "node:assert/strict";
import { authorizationCheck, isDecidedByRbac } from "./authorization_check.ts";

const ME = {
  subject: "https://idp#ada",
  kubernetes: { user: "xbind:https://idp#ada", groups: ["xbind:team-a", "xbind:authenticated"] },
};
const offer = (name: string, bindable?: boolean) => ({
  name,
  title: name,
  apis: [],
  ...(bindable === undefined ? {} : { bindable }),
});

Deno.test("isDecidedByRbac() is false for a gateway without authorization", () => {
  assert.ok(!isDecidedByRbac({ subject: "https://idp#ada" }));
  assert.ok(isDecidedByRbac(ME));
});

Deno.test("authorizationCheck() has nothing to add when everything may be bound", () => {
  assert.deepEqual(authorizationCheck(ME, { exports: [offer("a"), offer("b")] }), {
    check: "authorization",
    status: "ok",
    detail: "RBAC of the provider knows you as user xbind:https://idp#ada in xbind:team-a, " +
      "xbind:authenticated; you may bind 2 of the Exports you see",
  });
});

Deno.test("authorizationCheck() shows the exact role and binding for what is locked", () => {
  const check = authorizationCheck(ME, { exports: [offer("a"), offer("b", false)] });
  assert.equal(check.status, "ok");
  assert.match(check.remedy ?? "", /^You may not bind b\. /);
  const name = "xbind-bind-3b01d55f54";
  assert.deepEqual(check.manifests, [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [{
        apiGroups: ["catalog.xbind.io"],
        resources: ["exports"],
        resourceNames: ["b"],
        verbs: ["get", "bind"],
      }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: ME.kubernetes.user }],
    },
  ]);
});
