import assert from "node:assert/strict";
import type { Grant, ObjectMeta } from "../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName } from "../../common/api/names.ts";
import { scopes } from "./scope.ts";

const ADA = "https://idp#ada";
const grant = (name: string, subject: string): Grant => ({
  apiVersion: "iam.xbind.io/v1alpha1",
  kind: "Grant",
  metadata: { name },
  spec: { identity: { subject }, exportName: "pg", apis: [] },
});
const scopeOf = (grants: readonly Grant[]) =>
  scopes({
    grants: { values: () => grants.values(), find: () => grants.values() },
    heartbeats: { find: () => [] },
    changes: { grants: () => 0, heartbeats: () => 0 },
  });
const object = (namespace: string | undefined, connection?: string): ObjectMeta => ({
  name: "x",
  ...(namespace ? { namespace } : {}),
  annotations: {
    [ANNOTATIONS.consumerClusterUid]: "uid-of-ada",
    ...(connection ? { [ANNOTATIONS.connection]: connection } : {}),
  },
});

Deno.test("scopes() show an own object by its place and the Grant it names, never by a UID", async (t) => {
  const { isVisible } = scopeOf([grant("pg-ada", ADA)])(ADA).origins();
  const [own, other] = [boundaryName(ADA), boundaryName("https://idp#eve")];
  const cases: [string, ObjectMeta, boolean][] = [
    ["in the boundary, with the Grant", object(own, "pg-ada"), true],
    ["in the boundary, without a Grant", object(own), true],
    ["in the boundary, with a Grant of somebody or nobody", object(own, "pg-eve"), true],
    ["in the boundary of another, with the Grant", object(other, "pg-ada"), false],
    ["in a shared namespace, with the Grant", object("default", "pg-ada"), true],
    ["in a shared namespace, without a Grant", object("default"), false],
    ["in a shared namespace, with a Grant of another", object("default", "pg-eve"), false],
    ["in no namespace, with the Grant", object(undefined, "pg-ada"), true],
    ["in no namespace, without a Grant", object(undefined), false],
    ["without annotations", { name: "x", namespace: "default" }, false],
  ];
  for (const [name, metadata, expected] of cases) {
    await t.step(name, () => assert.equal(isVisible(metadata), expected));
  }
});

Deno.test("scopes() give a subject its own Grants, and everyone those of all", async (t) => {
  const of = scopeOf([grant("pg-ada", ADA), grant("pg-eve", "https://idp#eve")]);
  const cases: [string | undefined, string[]][] = [
    [ADA, ["pg-ada"]],
    ["https://idp#bob", []],
    ["", []],
    [undefined, ["pg-ada", "pg-eve"]],
  ];
  for (const [subject, names] of cases) {
    await t.step(`${subject}`, () => {
      const scope = of(subject);
      assert.deepEqual([...scope.grants()].map(({ metadata }) => metadata.name), names);
      assert.deepEqual([...scope.origins().exportByGrant.keys()], names);
      const isForeignShown = scope.origins().isVisible(object("default", "pg-eve"));
      assert.equal(isForeignShown, subject === undefined);
    });
  }
});

Deno.test("Scope.origins() have equal versions as long as they are equal", () => {
  const grants = [grant("pg-ada", ADA)];
  const of = scopeOf(grants);
  const { version } = of(ADA).origins();
  assert.deepEqual(of(ADA).origins().version, version);
  grants.push(grant("mq-ada", ADA));
  assert.notDeepEqual(of(ADA).origins().version, version);
});
