import assert from "node:assert/strict";
import { apisOf, groupVersionOf, type RawResource, resourcesOf } from "./published_apis.ts";

const WIDGET: RawResource = { name: "widgets", kind: "Widget", namespaced: true };

Deno.test("groupVersionOf() reads groups that may be pulled, and no others", () => {
  const { group, version } = groupVersionOf("apis/example.org/v1", "/a?hash=b") ?? {};
  assert.deepEqual([group, version], ["example.org", "v1"]);
  const others = [
    "api/v1",
    "apis/apps/v1",
    "apis/example.org",
    "apis/example.org/v1/widgets",
    "apis/example.org/..",
    "apis/../v1",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/iam.xbind.io/v1alpha1",
    "version",
  ];
  for (const path of others) assert.equal(groupVersionOf(path, ""), undefined);
});

Deno.test("resourcesOf() leaves out subresources and invalid names", () => {
  const resources = resourcesOf([
    WIDGET,
    { name: "widgets/status", kind: "Widget", namespaced: true },
    { name: "Bad Name", kind: "Bad" },
    { name: "nokinds" },
    { kind: "NoName" },
    { name: "things", kind: "Thing" },
  ]);
  assert.deepEqual([...resources.keys()], ["widgets", "things"]);
  assert.equal(resources.get("widgets")?.hasStatus, true);
  assert.equal(resources.get("things")?.hasStatus, false);
  assert.equal(resources.get("things")?.namespaced, false);
});

Deno.test("apisOf() joins versions, and offers what the credential may list", () => {
  const served = (version: string, hash: string, ...list: RawResource[]) => ({
    group: "example.org",
    version,
    hash,
    isSettled: true,
    resources: resourcesOf(list),
  });
  const rights = {
    mayList: ({ plural }: { plural: string }) => plural === "widgets",
    mayListIn: () => true,
  };
  const apis = apisOf([
    served("v1", "one", WIDGET, { name: "things", kind: "Thing" }),
    served("v2", "two", WIDGET),
  ], rights);
  const widgets = apis.get("widgets.example.org");
  assert.equal(widgets?.isExported, true);
  assert.deepEqual(widgets?.versions.map(({ name }) => name), ["v1", "v2"]);
  assert.equal(apis.get("things.example.org")?.isExported, false);
  const later = apisOf([served("v1", "one", WIDGET), served("v2", "three", WIDGET)], rights);
  assert.notEqual(later.get("widgets.example.org")?.version, widgets?.version);
  const settling = apisOf([{ ...served("v1", "one", WIDGET), isSettled: false }], rights);
  const settled = apisOf([served("v1", "one", WIDGET)], rights);
  const versionOf = (apis: typeof settled) => apis.get("widgets.example.org")?.version;
  assert.notEqual(versionOf(settling), versionOf(settled));
});
