import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Export, RelatedResource } from "../../common/api/resources.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import { apiNamesOf, instancesOf, type InstanceSources, relatedRulesOf } from "./instances.ts";

const CREATED = "2026-05-01T10:00:00Z";

const offer = (apis: string[], relatedResources: RelatedResource[] = []): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "pg" },
  spec: { title: "t", apis: apis.map((name) => ({ name })), defaults: { relatedResources } },
});

type Marks = { uid?: string; grant?: string; labels?: Record<string, string> };

const object = (at: string, { uid, grant, labels }: Marks = {}): MetadataObject => {
  const [name = "", namespace] = at.split("/").reverse();
  const annotations = {
    ...(uid ? { [ANNOTATIONS.consumerClusterUid]: uid } : {}),
    ...(grant ? { [ANNOTATIONS.connection]: grant } : {}),
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
      managedCopies: () => [object("ns/password", { uid: "uid-1", grant: "pg-1" })],
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

const GRANTS: Record<string, string> = { "pg-1": "pg", "mq-1": "mq" };
const exportOf = (grant: string) => GRANTS[grant];

Deno.test("instancesOf() shows an object with the Export of the Grant that it names", () => {
  const uid = "uid-1";
  const objects = [
    object("ns/a", { uid, grant: "pg-1" }),
    object("ns/b", { uid, grant: "mq-1" }),
    object("ns/c", { uid, grant: "renamed" }),
    object("ns/d", { uid }),
  ];
  const from = sources({
    managedObjects: () => objects,
    identityOf: (_, grant) => grant && `${grant}@example.org`,
    exportOf,
  });
  const shown = instancesOf(offer(["a.example.org"]), from).instances;
  assert.deepEqual(shown.map(({ name, identity }) => [name, identity]), [
    ["a", "pg-1@example.org"],
    ["c", "renamed@example.org"],
    ["d", undefined],
  ]);
});

Deno.test("instancesOf() shows the copies that came with a FromConsumer rule", () => {
  const uid = "uid-1";
  const ours = { [LABELS.managed]: "true", "core.xbind.io/other": "x" };
  const labels = { app: "x", ...ours };
  const names = ["a", "b", "c", "d", "e", "g", "h", "i"];
  const selector = { labelSelector: { matchLabels: { app: "x" } }, names };
  const copies = [
    object("ns/a", { uid, grant: "pg-1", labels }),
    object("ns/b", { uid, grant: "renamed", labels }),
    object("ns/c", { grant: "pg-1", labels }), // managed, but not a copy
    object("ns/d", { uid, grant: "mq-1", labels }), // came with another Export
    object("ns/e", { uid, grant: "pg-1", labels: { ...ours, app: "y" } }),
    object("ns/f", { uid, grant: "pg-1", labels }), // not among the names
    object("ns/g", { uid, labels }), // by another konnector
    object("ns/h", { uid, labels: ours }), // by another konnector that copies no labels
    object("ns/i", { uid, grant: "mq-1", labels: ours }),
  ];
  const answer = instancesOf(
    offer([], [rule("secrets", "FromConsumer", selector)]),
    sources({
      managedCopies: (resource) => resource === "secrets" ? copies : undefined,
      exportOf,
    }),
  );
  assert.deepEqual(places(answer), ["a", "b", "g", "h"].map((name) => `secrets ns/${name}`));
});

Deno.test("instancesOf() shows an object that rules of both directions match once", () => {
  const rules = (["FromProvider", "FromConsumer"] as const).map((direction) =>
    rule("secrets", direction, { names: ["a"] })
  );
  const both = () => [object("ns/a", { uid: "uid-1" })];
  const answer = instancesOf(
    offer([], rules),
    sources({ providerObjects: both, managedCopies: both }),
  );
  assert.deepEqual(places(answer), ["secrets ns/a"]);
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
        const all = () => [object("ns/a", { uid: "uid-1", grant: "pg-1" })];
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
  const leftOut: unknown[] = [];
  const relatedResources = [
    null,
    { resource: "secrets", selector: { labelSelector: { matchLabels: { a: 7 } } } },
    { resource: "pods", selector: { names: ["a"] } },
    { resource: "secrets", direction: "FromProvider", selector: { names: ["a"] } },
  ];
  const malformed = broken({ defaults: { relatedResources } });
  const rules = relatedRulesOf(malformed, (_, error) => leftOut.push(error));
  assert.deepEqual(rules, relatedResources.slice(3));
  assert.equal(leftOut.length, 2);
});
