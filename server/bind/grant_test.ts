import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Export } from "../../common/api/resources.ts";
import { XbindError } from "../../common/errors.ts";
import { grantName } from "../../common/api/names.ts";
import { grantFor } from "./grant.ts";

const SUBJECT = "https://idp.example.org#ada";

const exportOf = (spec: Partial<Export["spec"]> = {}): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "pg", labels: { team: "data" } },
  spec: { title: "Postgres", apis: [{ name: "databases.example.org" }], ...spec },
});

Deno.test("grantFor() takes APIs, policy and related rules from the Export", () => {
  const grant = grantFor(
    { subject: SUBJECT, displayName: "Ada", groups: ["dev"] },
    exportOf({
      apis: [{ name: "b.example.org" }, { name: "a.example.org" }],
      defaults: {
        conflictPolicy: "Adopt",
        relatedResources: [
          { resource: "secrets", direction: "FromProvider", selector: { names: ["x"] } },
        ],
      },
    }),
  );
  assert.deepEqual(grant, {
    apiVersion: "iam.xbind.io/v1alpha1",
    kind: "Grant",
    metadata: { name: grantName("pg", SUBJECT) },
    spec: {
      identity: { subject: SUBJECT, displayName: "Ada", groups: ["dev"] },
      exportName: "pg",
      apis: [{ name: "b.example.org" }, { name: "a.example.org" }],
      conflictPolicy: "Adopt",
      relatedResources: [
        { group: "", resource: "secrets", direction: "FromProvider", selector: { names: ["x"] } },
      ],
    },
  });
});

Deno.test("grantFor() leaves out what there is nothing of", () => {
  const { spec } = grantFor(
    { subject: SUBJECT, displayName: "", groups: [] },
    exportOf({ defaults: { relatedResources: [] } }),
  );
  assert.deepEqual(Object.keys(spec), ["identity", "exportName", "apis"]);
  assert.deepEqual(spec.identity, { subject: SUBJECT });
});

Deno.test("grantFor() keeps at most 1000 groups, and none that is too long", () => {
  const groups = ["x".repeat(2049), ...Array.from({ length: 1200 }, (_, i) => `group-${i}`)];
  const { identity } = grantFor({ subject: SUBJECT, groups }, exportOf()).spec;
  assert.equal(identity.groups?.length, 1000);
  assert.equal(identity.groups?.[0], "group-0");
});

Deno.test("grantFor() keeps groups far below the size that the API server can store", () => {
  const groups = Array.from({ length: 1000 }, () => "x".repeat(2048));
  const { identity } = grantFor({ subject: SUBJECT, groups }, exportOf()).spec;
  assert.equal(identity.groups?.length, 64);
});

Deno.test("grantFor() cuts a long display name without breaking a character", () => {
  const displayName = "x".repeat(2047) + "😀";
  const { identity } = grantFor({ subject: SUBJECT, displayName }, exportOf()).spec;
  assert.ok((identity.displayName?.length ?? 0) <= 2048);
  assert.ok(identity.displayName?.isWellFormed());
});

Deno.test("grantFor() refuses subjects that cannot be stored as they are", () => {
  for (const subject of ["", "x".repeat(2049), "a\ud800"]) {
    assert.throws(
      () => grantFor({ subject }, exportOf()),
      (error) => error instanceof XbindError && error.code === "INVALID_REQUEST",
    );
  }
  assert.equal(
    grantFor({ subject: "x".repeat(2048) }, exportOf()).spec.identity.subject.length,
    2048,
  );
});
