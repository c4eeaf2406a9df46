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
    detail: "The provider's RBAC knows you as user xbind:https://idp#ada in xbind:team-a, " +
      "xbind:authenticated; you may bind 2 of the Exports you see",
  });
});

Deno.test("authorizationCheck() shows the exact role and binding for what is locked", () => {
  const check = authorizationCheck(ME, { exports: [offer("a"), offer("b", false)] });
  assert.equal(check.status, "ok");
  assert.match(check.remedy ?? "", /^You may not bind b\. /);
  const name = "xbind-bind-b-3b01d55f54";
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

Deno.test("authorizationCheck() gives each Export its own role, and says how many it shows", () => {
  const names = Array.from({ length: 12 }, (_, i) => `export-${i}`);
  const check = authorizationCheck(ME, { exports: names.map((name) => offer(name, false)) });
  const roles = (check.manifests ?? []).filter((each) => "rules" in each) as {
    metadata: { name: string };
    rules: { resourceNames: string[] }[];
  }[];
  assert.equal(new Set(roles.map(({ metadata }) => metadata.name)).size, 10);
  const shown = roles.flatMap(({ rules }) => rules.flatMap((rule) => rule.resourceNames));
  assert.deepEqual(shown, names.slice(0, 10));
  assert.match(check.remedy ?? "", /and 2 more\. .* would apply this for the first 10$/);
});

Deno.test("authorizationCheck() says that it is not known what may be bound", () => {
  const check = authorizationCheck(ME, { exports: [offer("a")], bindableUnknown: true });
  assert.match(check.detail, /cannot say in advance which Exports you may bind$/);
});
