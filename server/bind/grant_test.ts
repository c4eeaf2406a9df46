import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Export, Grant } from "../../common/api/resources.ts";
import { XbindError } from "../../common/errors.ts";
import { ANNOTATIONS, grantName } from "../../common/api/names.ts";
import {
  grantEdit,
  grantFor,
  grantToCreate,
  hasStamp,
  type Stamp,
  stampEdit,
  stampFor,
} from "./grant.ts";

const SUBJECT = "https://idp.example.org#ada";

const exportOf = (spec: Partial<Export["spec"]> = {}): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "pg", labels: { team: "data" } },
  spec: { title: "Postgres", apis: [{ name: "databases.example.org" }], ...spec },
});

Deno.test("grantFor() takes APIs, policy and related rules from the Export", () => {
  const identity = { subject: SUBJECT, displayName: "Ada", groups: ["dev"] };
  const apis = [{ name: "b.example.org" }, { name: "a.example.org" }];
  const selector = { names: ["x"] };
  const rule = { resource: "secrets", direction: "FromProvider", selector } as const;
  const defaults = { conflictPolicy: "Adopt" as const, relatedResources: [rule] };
  assert.deepEqual(grantFor(identity, exportOf({ apis, defaults })), {
    apiVersion: "iam.xbind.io/v1alpha1",
    kind: "Grant",
    metadata: { name: grantName("pg", SUBJECT) },
    spec: {
      identity: { subject: SUBJECT, displayName: "Ada", groups: ["dev"] },
      exportName: "pg",
      apis: [{ name: "b.example.org" }, { name: "a.example.org" }],
      conflictPolicy: "Adopt",
      relatedResources: [{ group: "", ...rule }],
    },
  });
});

Deno.test("grantFor() leaves out empty fields", () => {
  const { spec } = grantFor(
    { subject: SUBJECT, displayName: "", groups: [] },
    exportOf({ defaults: { relatedResources: [] } }),
  );
  assert.deepEqual(Object.keys(spec), ["identity", "exportName", "apis"]);
  assert.deepEqual(spec.identity, { subject: SUBJECT });
});

Deno.test("grantFor() keeps at most 1000 groups, and drops groups that are too long", () => {
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

Deno.test("grantFor() refuses subjects that cannot be stored unchanged", () => {
  for (const subject of ["", "x".repeat(2049), "a\ud800"]) {
    assert.throws(
      () => grantFor({ subject }, exportOf()),
      (error) => error instanceof XbindError && error.code === "INVALID_REQUEST",
    );
  }
  const { identity } = grantFor({ subject: "x".repeat(2048) }, exportOf()).spec;
  assert.equal(identity.subject.length, 2048);
});

const NOW = new Date("2030-01-01T00:00:00Z");
const later = (ms: number) => new Date(NOW.getTime() + ms);
const UNTIL = later(30_000);
const WANTED = grantFor({ subject: SUBJECT }, exportOf());
const PICKUP = { token: "token", hash: "hash", ttlMs: 300_000 };

const stored = (annotations: Stamp, status: Condition["status"] = "False"): Grant => {
  const ready = { type: "Ready", status, reason: "", message: "", lastTransitionTime: "" };
  const metadata = { ...WANTED.metadata, annotations };
  return { ...WANTED, metadata, status: { conditions: [ready] } };
};

Deno.test("grantEdit() replaces another spec, and removes the fields that are not wanted", () => {
  const old = stored({}, "True");
  const edit = grantEdit({ ...old, spec: { ...old.spec, apis: [] } }, WANTED, UNTIL, NOW);
  assert.deepEqual(edit, {
    annotations: { [ANNOTATIONS.wantedUntil]: UNTIL.toISOString() },
    spec: {
      ...WANTED.spec,
      conflictPolicy: null,
      relatedResources: null,
      identity: { subject: SUBJECT, displayName: null, groups: null },
    },
  });
});

Deno.test("grantEdit() asks for priority unless the Grant is Ready or another bind waits", () => {
  const until = (at: Date) => ({ [ANNOTATIONS.wantedUntil]: at.toISOString() });
  const ask = { annotations: until(UNTIL) };
  const cases: [Grant, object | undefined][] = [
    [stored({}), ask],
    [stored(until(NOW)), ask],
    [stored(until(later(1))), undefined],
    [stored({}, "True"), undefined],
  ];
  for (const [grant, edit] of cases) assert.deepEqual(grantEdit(grant, WANTED, UNTIL, NOW), edit);
});

Deno.test("hasStamp() takes a Grant that was created with the stamp, for a sixtieth of its life", () => {
  const stamp = stampFor(PICKUP, NOW);
  const grant = grantToCreate(WANTED, stamp, UNTIL);
  assert.ok(hasStamp(grant, stamp, later(5_000)));
  assert.ok(!hasStamp(grant, stamp, later(5_001)));
  assert.ok(!hasStamp(stored({}), stamp, NOW));
  for (const key of Object.keys(stamp)) {
    assert.ok(!hasStamp(stored({ ...stamp, [key]: "of another bind" }), stamp, NOW), key);
  }
  const plain = stampFor(undefined, NOW);
  assert.ok(hasStamp(stored(plain), plain, later(3_600_000)), "without a pickup nothing expires");
});

Deno.test("stampEdit() renews a pickup, and leaves it alone if the stamp has none", () => {
  const bound = { [ANNOTATIONS.boundAt]: NOW.toISOString(), [ANNOTATIONS.wantedUntil]: null };
  assert.deepEqual(stampEdit(stampFor(undefined, NOW)).annotations, bound);
  assert.deepEqual(stampEdit(stampFor(PICKUP, NOW)).annotations, {
    ...bound,
    [ANNOTATIONS.pickupSha256]: "hash",
    [ANNOTATIONS.pickupExpiry]: later(300_000).toISOString(),
    [ANNOTATIONS.pickupConsumed]: null,
  });
});
