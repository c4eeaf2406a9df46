import assert from "node:assert/strict";
import {
  CRDS,
  type ObjectMeta,
  type PolicyRule,
  type RoleBinding,
} from "../../common/api/resources.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { Cache } from "../../common/kube/cache.ts";
import { metadataObjects } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { exportCache, grantCache } from "../provider/caches.ts";
import { ACCOUNT_UID_ANNOTATION } from "./grant_objects.ts";
import {
  bindingContent,
  cachesOfRights,
  isExported,
  isFilled,
  issuerCaches,
  rulesContent,
} from "./issued_caches.ts";

const RULE: PolicyRule = { verbs: ["get"], apiGroups: ["example.org"], resources: ["widgets"] };

Deno.test("rulesContent() is the same for equal rules that the API server spells differently", () => {
  const reordered = { resources: ["widgets"], apiGroups: ["example.org"], verbs: ["get"] };
  assert.equal(rulesContent([RULE]), rulesContent([reordered]));
  assert.equal(rulesContent([RULE]), rulesContent([{ ...RULE, resourceNames: [] }]));
  assert.equal(rulesContent(), rulesContent([]));
});

Deno.test("rulesContent() differs for every change of a rule", () => {
  const changes: PolicyRule[][] = [
    [],
    [RULE, RULE],
    [{ ...RULE, verbs: ["get", "list"] }],
    [{ ...RULE, verbs: ["*"] }],
    [{ ...RULE, apiGroups: [""] }],
    [{ ...RULE, resources: ["widgets", "widgets/status"] }],
    [{ ...RULE, resourceNames: ["one"] }],
    [{ ...RULE, nonResourceURLs: ["/metrics"] }],
    [{ ...RULE, apiGroups: [], resources: ["example.org", "widgets"] }],
  ];
  const contents = new Set([[RULE], ...changes].map((rules) => rulesContent(rules)));
  assert.equal(contents.size, changes.length + 1);
});

const BINDING: Pick<RoleBinding, "roleRef" | "subjects"> = {
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
  subjects: [{ kind: "ServiceAccount", name: "a", namespace: "b" }],
};
const SUBJECT = { kind: "ServiceAccount", name: "a", namespace: "b" } as const;

Deno.test("bindingContent() differs for every change of role or subjects", () => {
  const { roleRef } = BINDING;
  const changes: typeof BINDING[] = [
    { roleRef },
    { ...BINDING, roleRef: { ...roleRef, kind: "ClusterRole" } },
    { ...BINDING, roleRef: { ...roleRef, name: "b" } },
    { roleRef, subjects: [SUBJECT, SUBJECT] },
    { roleRef, subjects: [{ ...SUBJECT, namespace: "c" }] },
    { roleRef, subjects: [{ ...SUBJECT, name: "c" }] },
    { roleRef, subjects: [{ kind: "User", name: "a" }] },
    { roleRef, subjects: [{ kind: "Group", name: "a" }] },
  ];
  const contents = new Set([BINDING, ...changes].map((binding) => bindingContent(binding)));
  assert.equal(contents.size, changes.length + 1);
  const withDefaults = { ...BINDING, subjects: [{ ...SUBJECT, apiGroup: "" }] };
  assert.equal(bindingContent(withDefaults), bindingContent(BINDING));
});

Deno.test("isFilled() recognizes a token by the annotation that comes with it", () => {
  const secret = (annotations: Record<string, string>) => ({
    metadata: { name: "a", annotations },
  });
  assert.ok(isFilled(secret({ [ACCOUNT_UID_ANNOTATION]: "1" })));
  assert.ok(!isFilled(secret({})));
  assert.ok(!isFilled({ metadata: { name: "a" } }));
});

/** A cache that knows one CRD. */
function crdsWith(crd: Partial<ObjectMeta>): Cache<MetadataObject> {
  const crds = new Cache(metadataObjects(CRDS));
  const metadata = { name: "widgets.example.org", resourceVersion: "1", uid: "1", ...crd };
  crds.learn({ metadata }, FIELD_MANAGERS.crds);
  return crds;
}

const labels = { [LABELS.exported]: "true" };

Deno.test("isExported() requires a CRD with the label", async (t) => {
  const deletionTimestamp = "2030-01-01T00:00:00Z";
  const table: [string, Partial<ObjectMeta>, string, boolean][] = [
    ["labelled", { labels }, "widgets.example.org", true],
    ["unlabelled", {}, "widgets.example.org", false],
    ["with another value", { labels: { [LABELS.exported]: "True" } }, "widgets.example.org", false],
    ["another one", { labels }, "gadgets.example.org", false],
    ["going away", { labels, deletionTimestamp }, "widgets.example.org", false],
    ["of ours", { name: "grants.iam.xbind.io", labels }, "grants.iam.xbind.io", false],
    ["of a wildcard", { name: "*.example.org", labels }, "*.example.org", false],
    ["without a group", { name: "widgets", labels }, "widgets", false],
  ];
  for (const [what, crd, api, expected] of table) {
    await t.step(what, () => assert.equal(isExported({ crds: crdsWith(crd) }, api), expected));
  }
});

Deno.test("issuerCaches() finds the objects of a Grant by their label", () => {
  const caches = issuerCaches({ grants: grantCache(), exports: exportCache() });
  const counts = (grant: string) => cachesOfRights(caches).map((c) => c.count("grant", grant));
  const learn = (version: string, grant?: string) => {
    const labels = grant === undefined ? {} : { [LABELS.grant]: grant };
    const metadata = { name: "any", namespace: "xbind-1", resourceVersion: version, labels };
    caches.roles.learn({ metadata }, FIELD_MANAGERS.issuer);
  };
  assert.deepEqual(counts("a"), [0, 0, 0, 0, 0]);
  learn("1", "a");
  assert.deepEqual(counts("a"), [0, 1, 0, 0, 0]);
  learn("2", "b");
  assert.deepEqual(counts("a"), [0, 0, 0, 0, 0]);
  assert.deepEqual(counts("b"), [0, 1, 0, 0, 0]);
  learn("3");
  assert.deepEqual(counts("b"), [0, 0, 0, 0, 0]);
});
