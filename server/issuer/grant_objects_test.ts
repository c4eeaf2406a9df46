import assert from "node:assert/strict";
import fc from "fast-check";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant, PolicyRule, RelatedResource } from "../../common/api/resources.ts";
import { apisOf, grantObjects, withoutRights } from "./grant_objects.ts";

const grant = (relatedResources?: RelatedResource[]): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "widgets-ada" },
  spec: {
    identity: { subject: "https://idp.example.org#ada" },
    exportName: "widgets",
    apis: [{ name: "widgets.example.org" }],
    ...(relatedResources && { relatedResources }),
  },
});
const NAMESPACE = "xbind-1e2b05bb961197f0952d";
const READ = ["get", "list", "watch"];
const ALL = [...READ, "create", "update", "patch", "delete"];

const rule = (group: string, resources: string[], verbs: string[]): PolicyRule => ({
  apiGroups: [group],
  resources,
  verbs,
});
const LEASES = rule("coordination.k8s.io", ["leases"], ALL);
const IDENTITY = [
  rule("apiextensions.k8s.io", ["customresourcedefinitions"], READ),
  { ...rule("", ["namespaces"], ["get"]), resourceNames: ["kube-system"] },
];
const NAMESPACES = rule("", ["namespaces"], [...READ, "create"]);
const WIDGETS = rule("example.org", ["widgets", "widgets/status"], ALL);

Deno.test("grantObjects() puts the rules of an API into the role of the scope", () => {
  const cluster = grantObjects(grant(), ["widgets.example.org"], { issuerScope: "Cluster" });
  assert.deepEqual(cluster.role.rules, [LEASES]);
  assert.deepEqual(cluster.clusterRole.rules, [...IDENTITY, NAMESPACES, WIDGETS]);
  const namespace = grantObjects(grant(), ["widgets.example.org"], { issuerScope: "Namespace" });
  assert.deepEqual(namespace.role.rules, [LEASES, WIDGETS]);
  assert.deepEqual(namespace.clusterRole.rules, IDENTITY);
});

Deno.test("withoutRights() leaves heartbeats, and the names of APIs without a verb of Kubernetes", () => {
  const related: RelatedResource[] = [{ resource: "secrets", direction: "FromConsumer" }];
  for (const issuerScope of ["Cluster", "Namespace"] as const) {
    const objects = grantObjects(grant(related), ["widgets.example.org"], { issuerScope });
    const { role, clusterRole } = withoutRights(objects);
    const rules = [...role.rules ?? [], ...clusterRole.rules ?? []];
    const withheld = { ...WIDGETS, verbs: ["withheld-by-xbind"] };
    const kept = [LEASES, ...IDENTITY];
    assert.deepEqual(new Set(rules), new Set([...kept, withheld]));
    assert.deepEqual(apisOf(rules), ["widgets.example.org"]);
    assert.deepEqual(withoutRights(withoutRights(objects)), withoutRights(objects));
  }
});

Deno.test("grantObjects() names and labels every object after the Grant", () => {
  const { boundary, ...ofGrant } = grantObjects(grant(), [], { issuerScope: "Cluster" });
  assert.deepEqual(boundary.metadata, {
    name: NAMESPACE,
    labels: {
      "core.xbind.io/managed": "true",
      "iam.xbind.io/identity": NAMESPACE.replace("xbind-", ""),
    },
  });
  const labels = { "iam.xbind.io/grant": "widgets-ada" };
  const inBoundary = { name: "widgets-ada", namespace: NAMESPACE, labels };
  const clusterWide = { name: "xbind:grant:widgets-ada", labels };
  assert.deepEqual(ofGrant.account.metadata, inBoundary);
  assert.deepEqual(ofGrant.role.metadata, inBoundary);
  assert.deepEqual(ofGrant.roleBinding.metadata, inBoundary);
  assert.deepEqual(ofGrant.clusterRole.metadata, clusterWide);
  assert.deepEqual(ofGrant.clusterRoleBinding.metadata, clusterWide);
  assert.deepEqual(ofGrant.tokenSecret.metadata, {
    ...inBoundary,
    name: "widgets-ada-token",
    annotations: { "kubernetes.io/service-account.name": "widgets-ada" },
  });
  assert.equal(ofGrant.tokenSecret.type, "kubernetes.io/service-account-token");
});

Deno.test("grantObjects() binds its two roles only to its ServiceAccount", () => {
  const desired = grantObjects(grant(), [], { issuerScope: "Namespace" });
  const { roleBinding, clusterRoleBinding } = desired;
  const subjects = [{ kind: "ServiceAccount", name: "widgets-ada", namespace: NAMESPACE }];
  const apiGroup = "rbac.authorization.k8s.io";
  assert.deepEqual(roleBinding.subjects, subjects);
  assert.deepEqual(roleBinding.roleRef, { apiGroup, kind: "Role", name: "widgets-ada" });
  assert.deepEqual(clusterRoleBinding.subjects, subjects);
  const name = "xbind:grant:widgets-ada";
  assert.deepEqual(clusterRoleBinding.roleRef, { apiGroup, kind: "ClusterRole", name });
});

Deno.test("grantObjects() allows a related resource by its widest rule", async (t) => {
  const related = (...pairs: `${RelatedResource["resource"]} ${RelatedResource["direction"]}`[]) =>
    pairs.map((pair) => {
      const [resource, direction] = pair.split(" ");
      return { resource, direction, selector: { names: ["x"] } } as RelatedResource;
    });
  const table: [RelatedResource[], PolicyRule[]][] = [
    [related(), []],
    [related("secrets FromProvider"), [rule("", ["secrets"], READ)]],
    [related("secrets FromConsumer"), [rule("", ["secrets"], ALL)]],
    [[{ resource: "*", direction: "FromConsumer" } as unknown as RelatedResource], []],
    [[{ resource: "pods/exec", direction: "FromConsumer" } as unknown as RelatedResource], []],
    [related("secrets FromProvider", "secrets FromConsumer"), [rule("", ["secrets"], ALL)]],
    [
      related("secrets FromConsumer", "configmaps FromProvider", "secrets FromProvider"),
      [rule("", ["secrets"], ALL), rule("", ["configmaps"], READ)],
    ],
  ];
  for (const [relatedResources, rules] of table) {
    const given = relatedResources.map(({ resource, direction }) => `${resource} ${direction}`);
    await t.step(`given [${given}]`, () => {
      const desired = grantObjects(grant(relatedResources), [], { issuerScope: "Namespace" });
      assert.deepEqual(desired.role.rules, [LEASES, ...rules]);
    });
  }
});

Deno.test("grantObjects() gives no rights for a name that is not an API name", () => {
  const names = ["*", "*.example.org", "widgets", ".example.org", "widgets.", "a/b.example.org"];
  const { role } = grantObjects(grant(), names, { issuerScope: "Namespace" });
  assert.deepEqual(role.rules, [LEASES]);
});

Deno.test("grantObjects() never allows a wildcard or the core group by an API name", () => {
  fc.assert(fc.property(fc.array(fc.string()), (names) => {
    const { role } = grantObjects(grant(), names, { issuerScope: "Namespace" });
    for (const { apiGroups = [], resources = [] } of role.rules ?? []) {
      assert.ok([...apiGroups, ...resources].every((text) => /^[a-z0-9./-]+$/.test(text)));
    }
  }));
});

Deno.test("apisOf() returns the APIs that grantObjects() allowed, and nothing else", () => {
  const apis = ["widgets.example.org", "gadgets.things.example.org"];
  const related: RelatedResource[] = [{ resource: "secrets", direction: "FromConsumer" }];
  for (const issuerScope of ["Cluster", "Namespace"] as const) {
    const { role, clusterRole } = grantObjects(grant(related), apis, { issuerScope });
    const [found, others] = [apisOf(role.rules ?? []), apisOf(clusterRole.rules ?? [])];
    assert.deepEqual([...found, ...others], apis);
  }
  assert.deepEqual(apisOf([{ verbs: ["*"], nonResourceURLs: ["*"] }]), []);
  assert.deepEqual(apisOf([rule("", ["pods", "pods/status"], ALL)]), []);
});
