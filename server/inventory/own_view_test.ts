import assert from "node:assert/strict";
import type { Grant, ObjectMeta } from "../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName } from "../../common/api/names.ts";
import { ownView } from "./own_view.ts";

const ADA = "https://idp#ada";
const grant = (name: string, subject: string): Grant => ({
  apiVersion: "iam.xbind.io/v1alpha1",
  kind: "Grant",
  metadata: { name },
  spec: { identity: { subject }, exportName: "pg", apis: [] },
});
const view = ownView(ADA, [grant("pg-ada", ADA)], { find: () => [] });
const object = (namespace: string | undefined, connection?: string): ObjectMeta => ({
  name: "x",
  ...(namespace ? { namespace } : {}),
  annotations: {
    [ANNOTATIONS.consumerClusterUid]: "uid-of-ada",
    ...(connection ? { [ANNOTATIONS.connection]: connection } : {}),
  },
});

Deno.test("ownView() shows an object by its place and the Grant it names, never by a UID", async (t) => {
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
  for (const [name, metadata, isVisible] of cases) {
    await t.step(name, () => assert.equal(view.isVisible(metadata), isVisible));
  }
});
