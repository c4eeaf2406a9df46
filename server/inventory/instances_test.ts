import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Export, RelatedResource } from "../../common/api/resources.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { apiNamesOf, instancesOf, type InstanceSources, relatedRulesOf } from "./instances.ts";

const CREATED = "2026-05-01T10:00:00Z";

const offer = (apis: string[], relatedResources: RelatedResource[] = []): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "pg" },
  spec: { title: "t", apis: apis.map((name) => ({ name })), defaults: { relatedResources } },
});

type Marks = { uid?: string; binding?: string; labels?: Record<string, string> };

const object = (at: string, { uid, binding, labels }: Marks = {}): MetadataObject => {
  const [name = "", namespace] = at.split("/").reverse();
  const annotations = {
    ...(uid ? { [ANNOTATIONS.consumerClusterUid]: uid } : {}),
    ...(binding ? { [ANNOTATIONS.relatedBinding]: binding } : {}),
  };
  const place = namespace ? { name, namespace } : { name };
  const marks = labels ? { annotations, labels } : { annotations };
  return { metadata: { ...place, creationTimestamp: CREATED, ...marks } };
};

const rule = (
  resource: RelatedResource["resource"],
  direction: RelatedResource["direction"],
  selector: NonNullable<RelatedResource["selector"]>,
): RelatedResource => ({ resource, direction, selector });

const sources = (more: Partial<InstanceSources> = {}): InstanceSources => ({
  managedObjects: () => [],
  managedCopies: () => [],
  providerObjects: () => [],
  identityOf: () => undefined,
  exportOf: () => undefined,
  ...more,
});

const places = ({ instances }: ReturnType<typeof instancesOf>) =>
  instances.map(({ api, namespace = "", name }) => `${api} ${namespace}/${name}`);

Deno.test("instancesOf() shows every field of a row", () => {
  const objects: Record<string, MetadataObject[]> = {
    "a.example.org": [object("ns/x", { uid: "uid-1" }), object("y", { uid: "uid-2" }), object("z")],
  };
  const answer = instancesOf(
    offer(["a.example.org"], [rule("secrets", "FromConsumer", { names: ["password"] })]),
    sources({
      managedObjects: (api) => objects[api],
      managedCopies: () => [object("ns/password", { uid: "uid-1", binding: "pg-1" })],
      identityOf: (uid) => uid === "uid-1" ? "ada@example.org" : undefined,
    }),
  );
  const api = "a.example.org";
  const related = { related: true, direction: "FromConsumer" };
  const ada = { clusterUID: "uid-1", identity: "ada@example.org", createdAt: CREATED };
  assert.deepEqual(answer, {
    export: "pg",
    instances: [
      { api, name: "y", clusterUID: "uid-2", createdAt: CREATED },
      { api, name: "z", createdAt: CREATED },
      { api, namespace: "ns", name: "x", ...ada },
      { api: "secrets", ...related, namespace: "ns", name: "password", ...ada },
    ],
  });
});

Deno.test("instancesOf() sorts API rows first, then by api, namespace and name", () => {
  const rules = (["secrets", "configmaps"] as const).map((resource) =>
    rule(resource, "FromProvider", { labelSelector: {} })
  );
  const objects = [object("b/y"), object("a/z"), object("b/x")];
  const answer = instancesOf(
    offer(["z.example.org", "a.example.org"], rules),
    sources({ managedObjects: () => objects, providerObjects: () => objects }),
  );
  const sorted = ["a.example.org", "z.example.org", "configmaps", "secrets"]
    .flatMap((api) => ["a/z", "b/x", "b/y"].map((place) => `${api} ${place}`));
  assert.deepEqual(places(answer), sorted);
});

Deno.test("instancesOf() shows the copies that came with a FromConsumer rule", () => {
  const labels = { app: "x" };
  const names = ["a", "b", "c", "d", "e"];
  const selector = { labelSelector: { matchLabels: labels }, names };
  const copies = [
    object("ns/a", { binding: "pg-1", labels }),
    object("ns/b", { binding: "team/renamed", labels }),
    object("ns/c", { labels }), // managed, but not a copy
    object("ns/d", { binding: "mq-1", labels }), // came with another Export
    object("ns/e", { binding: "pg-1", labels: { app: "y" } }),
    object("ns/f", { binding: "pg-1", labels }), // not among the names
  ];
  const grants: Record<string, string> = { "pg-1": "pg", "mq-1": "mq" };
  const answer = instancesOf(
    offer([], [rule("secrets", "FromConsumer", selector)]),
    sources({
      managedCopies: (resource) => resource === "secrets" ? copies : undefined,
      exportOf: (grant) => grants[grant],
    }),
  );
  assert.deepEqual(places(answer), ["secrets ns/a", "secrets ns/b"]);
});

Deno.test("instancesOf() shows the objects of a FromProvider rule with matching names, each once", () => {
  const selector = { labelSelector: { matchLabels: { app: "x" } }, names: ["a", "b"] };
  const rules = [selector, { names: ["a"] }].map((each) => rule("secrets", "FromProvider", each));
  const answer = instancesOf(
    offer([], rules),
    sources({ providerObjects: () => [object("ns/a"), object("other/a"), object("ns/c")] }),
  );
  assert.deepEqual(places(answer), ["secrets ns/a", "secrets other/a"]);
  assert.ok(answer.instances.every((row) => row.related && row.direction === "FromProvider"));
});

Deno.test("instancesOf() shows no rows for a rule without a selector", async (t) => {
  for (const selector of [undefined, {}, { names: [] }]) {
    for (const direction of ["FromProvider", "FromConsumer"] as const) {
      await t.step(`${direction} ${JSON.stringify(selector)}`, () => {
        const rule = { resource: "secrets" as const, direction, ...(selector ? { selector } : {}) };
        const all = () => [object("ns/a", { binding: "pg-1" })];
        const from = sources({ providerObjects: all, managedCopies: all });
        assert.deepEqual(instancesOf(offer([], [rule]), from).instances, []);
      });
    }
  }
});

Deno.test("instancesOf() shows the other rows if an API cannot be listed", () => {
  const answer = instancesOf(
    offer(["a.example.org", "b.example.org"]),
    sources({ managedObjects: (api) => api.startsWith("a") ? undefined : [object("ns/x")] }),
  );
  assert.deepEqual(places(answer), ["b.example.org ns/x"]);
});

Deno.test("instancesOf() tolerates a malformed Export, and reports the rules it leaves out", () => {
  const broken = (spec: unknown) => ({ ...offer([]), spec }) as Export;
  for (const spec of [null, undefined, {}, { apis: "x" }, { apis: [null, {}, { name: 7 }] }]) {
    assert.deepEqual(instancesOf(broken(spec), sources()), { export: "pg", instances: [] });
    assert.deepEqual(apiNamesOf(broken(spec)), []);
  }
  const reported: unknown[] = [];
  const relatedResources = [
    null,
    { resource: "secrets", selector: { labelSelector: { matchLabels: { a: 7 } } } },
    { resource: "pods", selector: { names: ["a"] } },
    { resource: "secrets", direction: "FromProvider", selector: { names: ["a"] } },
  ];
  const malformed = broken({ defaults: { relatedResources } });
  const rules = relatedRulesOf(malformed, (_, error) => reported.push(error));
  assert.deepEqual(rules, relatedResources.slice(3));
  assert.equal(reported.length, 2);
});
