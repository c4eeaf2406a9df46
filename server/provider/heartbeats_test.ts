import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, LABELS } from "../../common/api/names.ts";
import {
  connectionKey,
  countsFor,
  decodeHeartbeat,
  effectiveRenewal,
  type Heartbeat,
  HEARTBEAT_INDEXES,
  heartbeatLeases,
  isLive,
  newestHeartbeats,
  problemLimit,
} from "./heartbeats.ts";

const SUBJECT = "https://idp.example.org#ada";
const BOUNDARY = boundaryName(SUBJECT);
const GRANT_CREATED = "2026-05-01T12:00:00Z";
const SEEN = Date.parse("2026-05-01T13:00:00Z");

const grant: Grant = {
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "pg-1", uid: "g", creationTimestamp: GRANT_CREATED },
  spec: { identity: { subject: SUBJECT }, exportName: "pg", apis: [{ name: "dbs.example.org" }] },
};

const KEPT_METADATA = {
  name: "pg-1-0123456789",
  namespace: BOUNDARY,
  uid: "l",
  resourceVersion: "7",
  creationTimestamp: "2026-05-01T12:10:00Z",
};

const LEASE = {
  metadata: {
    ...KEPT_METADATA,
    labels: { [LABELS.managed]: "true", other: "x" } as Record<string, unknown>,
    annotations: {
      [ANNOTATIONS.connection]: "pg-1",
      [ANNOTATIONS.consumerClusterUid]: "0123456789-uid",
      other: "x",
    } as Record<string, unknown>,
    managedFields: [{ manager: "konnector" }],
  },
  spec: {
    holderIdentity: "0123456789-uid",
    leaseDurationSeconds: 60,
    renewTime: "2026-05-01T12:59:30.123456Z",
  } as Record<string, unknown> | null,
};
type RawLease = typeof LEASE;
type Edit = (lease: RawLease) => void;

const heartbeat = (edit: Edit = () => {}, seenMs = SEEN) => {
  const lease = structuredClone(LEASE);
  edit(lease);
  return decodeHeartbeat(lease, seenMs);
};

const annotate = (key: string, value: unknown): Edit => (lease) =>
  lease.metadata.annotations[key] = value;

const renewed = (renewTime: string, created?: string): Edit => (lease) => {
  lease.spec = { ...lease.spec, renewTime };
  if (created) lease.metadata.creationTimestamp = created;
};

Deno.test("decodeHeartbeat() keeps only the fields that are used", () => {
  assert.deepEqual(heartbeat(), {
    metadata: KEPT_METADATA,
    connection: "pg-1",
    consumerUid: "0123456789-uid",
    renewTimeMs: Date.parse("2026-05-01T12:59:30.123Z"),
    durationMs: 60_000,
    seenMs: SEEN,
  });
});

Deno.test("decodeHeartbeat() keeps the key of a malformed Lease, which then counts for no Grant", async (t) => {
  const poison: Record<string, Edit> = {
    "no spec": (lease) => lease.spec = null,
    "a renewTime of another type": (lease) => lease.spec = { renewTime: { seconds: 1 } },
    "a renewTime that is no time": renewed("yesterday"),
    "an empty renewTime": renewed(""),
    "no annotations": (lease) => lease.metadata.annotations = {},
    "no labels": (lease) => lease.metadata.labels = {},
    "another label value": (lease) => lease.metadata.labels[LABELS.managed] = "True",
    "a connection of another type": annotate(ANNOTATIONS.connection, ["pg-1"]),
    "an empty connection": annotate(ANNOTATIONS.connection, ""),
    "an impossible connection": annotate(ANNOTATIONS.connection, "pg-1/../x"),
    "an endless connection": annotate(ANNOTATIONS.connection, "a".repeat(200_000)),
    "no consumer": annotate(ANNOTATIONS.consumerClusterUid, undefined),
    "an empty consumer": annotate(ANNOTATIONS.consumerClusterUid, ""),
    "an endless consumer": annotate(ANNOTATIONS.consumerClusterUid, "a".repeat(200_000)),
  };
  for (const [what, edit] of Object.entries(poison)) {
    await t.step(what, () => {
      const decoded = heartbeat(edit);
      assert.equal(decoded.metadata.name, LEASE.metadata.name);
      assert.equal(decoded.metadata.namespace, BOUNDARY);
      assert.equal(countsFor(decoded, grant), false);
      assert.ok(JSON.stringify(decoded).length < 1_000, "it stays small");
    });
  }
});

Deno.test("decodeHeartbeat() replaces an invalid duration by the default", () => {
  for (const seconds of [undefined, null, "60", 0, -1, NaN, Infinity]) {
    const decoded = heartbeat((lease) => lease.spec = { leaseDurationSeconds: seconds });
    assert.equal(decoded.durationMs, 60_000, String(seconds));
  }
  assert.equal(heartbeat((lease) => lease.spec = { leaseDurationSeconds: 15 }).durationMs, 15_000);
});

Deno.test("heartbeatLeases() watches labelled Leases of all namespaces and records when it saw them", () => {
  const source = heartbeatLeases(() => 42);
  assert.deepEqual(source.selection, { labelSelector: "core.xbind.io/managed=true" });
  assert.equal(source.decode(LEASE).seenMs, 42);
});

Deno.test("HEARTBEAT_INDEXES index a Lease by namespace and by its Connection in it", () => {
  const decoded = heartbeat();
  assert.deepEqual(HEARTBEAT_INDEXES.namespace(decoded), [BOUNDARY]);
  assert.deepEqual(HEARTBEAT_INDEXES.connection(decoded), [connectionKey(BOUNDARY, "pg-1")]);
  const nameless = heartbeat((lease) => lease.metadata.annotations = {});
  assert.deepEqual(HEARTBEAT_INDEXES.connection(nameless), []);
});

Deno.test("countsFor()", async (t) => {
  const BEFORE = "2026-05-01T11:59:59Z";
  const FUTURE = "2027-01-01T00:00:00Z";
  const EARLY = Date.parse(GRANT_CREATED) - 1;
  const eves = boundaryName("https://idp.example.org#eve");
  const table: [string, Edit, boolean, seenMs?: number][] = [
    ["takes a Lease of the Grant", () => {}, true],
    ["refuses one forged in another boundary", ({ metadata }) => metadata.namespace = eves, false],
    ["refuses one of another Connection", annotate(ANNOTATIONS.connection, "pg-2"), false],
    ["refuses one without the label", ({ metadata }) => metadata.labels = { other: "x" }, false],
    ["refuses one without a renewTime", (lease) => delete lease.spec?.["renewTime"], false],
    ["refuses an older one, renewed before", renewed("2026-05-01T11:59:59.999Z", BEFORE), false],
    ["takes an older one, renewed with the Grant", renewed(GRANT_CREATED, BEFORE), true],
    ["takes an older one, renewed since", renewed("2026-05-01T12:30:00Z", BEFORE), true],
    ["takes a new one whose clock is behind", renewed("2026-04-30T00:00:00Z", GRANT_CREATED), true],
    ["takes one that claims the future", renewed(FUTURE, "2026-05-01T12:10:00Z"), true],
    ["refuses that if seen before the Grant", renewed(FUTURE, BEFORE), false, EARLY],
  ];
  for (const [does, edit, expected, seenMs] of table) {
    await t.step(does, () => assert.equal(countsFor(heartbeat(edit, seenMs), grant), expected));
  }
});

Deno.test("effectiveRenewal()", async (t) => {
  const at = (renewTimeMs: number, seenMs: number) => ({ ...heartbeat(), renewTimeMs, seenMs });
  const table: [string, number, number, number, number][] = [
    ["is the renewTime when that is past", 100, 200, 300, 100],
    ["is when we saw it, for a renewTime ahead of our clock", 900, 200, 300, 200],
    ["stays so when our clock passes that renewTime", 900, 200, 1_000, 200],
    ["is now, when our clock was set back", 900, 800, 300, 300],
  ];
  for (const [is, renewMs, seenMs, nowMs, expected] of table) {
    await t.step(is, () => assert.equal(effectiveRenewal(at(renewMs, seenMs), nowMs), expected));
  }
  await t.step("is undefined without a renewTime", () => {
    const { renewTimeMs: _, ...never } = heartbeat();
    assert.equal(effectiveRenewal(never, 300), undefined);
  });
});

Deno.test("isLive() is true for twice the duration of the Lease, and not a millisecond longer", () => {
  const live = (durationMs: number, ageMs: number) =>
    isLive({ ...heartbeat(), durationMs, renewTimeMs: 1_000, seenMs: 1_000 }, 1_000 + ageMs);
  assert.equal(live(60_000, 120_000), true);
  assert.equal(live(60_000, 120_001), false);
  assert.equal(live(15_000, 30_000), true);
  assert.equal(live(15_000, 30_001), false);
  const { renewTimeMs: _, ...never } = heartbeat();
  assert.equal(isLive(never, SEEN), false);
});

Deno.test("newestHeartbeats() keeps the newest of every Connection before the second of any", () => {
  const at = (connection: string, minute: number) =>
    heartbeat((lease) => {
      const renewTime = `2026-05-01T12:${String(minute).padStart(2, "0")}:00Z`;
      lease.metadata.name = `${connection}-${minute}`;
      lease.metadata.annotations[ANNOTATIONS.connection] = connection;
      lease.spec = { ...lease.spec, renewTime };
    });
  const flood = Array.from({ length: 50 }, (_, i) => at("flood", 59 - i));
  const leases = [...flood, at("old", 1), at("older", 0), at("old", 2)];
  const names = (kept: number, keptOfConnection: number) =>
    newestHeartbeats(leases, { kept, keptOfConnection }).map(({ metadata }) => metadata.name);
  assert.deepEqual(names(5, 400), ["flood-59", "old-2", "older-0", "flood-58", "old-1"]);
  assert.deepEqual(names(99, 2), ["flood-59", "old-2", "older-0", "flood-58", "old-1"]);
  assert.equal(names(99, 400).length, leases.length);
});

Deno.test("newestHeartbeats() ranks a future time by when it was seen", () => {
  const future = heartbeat(renewed("2099-01-01T00:00:00Z"), SEEN - 60_000);
  const honest = heartbeat(renewed("2026-05-01T12:59:30Z"));
  const never = heartbeat((lease) => lease.spec = null);
  const limits = { kept: 3, keptOfConnection: 3 };
  assert.deepEqual(newestHeartbeats([never, future, honest], limits), [honest, future, never]);
});

Deno.test("problemLimit() keeps the problems of a bounded number of Leases in a boundary", () => {
  const told = (name: string, namespace = "a") => {
    const summary = {
      objects: 1,
      conflicts: 0,
      rejected: 1,
      problems: [{ api: "dbs.example.org", name, reason: "Rejected", message: "" }],
    };
    return heartbeat((lease) => {
      lease.metadata.namespace = namespace;
      annotate(ANNOTATIONS.syncSummary, JSON.stringify(summary))(lease);
    });
  };
  const isKept = ({ report }: Heartbeat) => report?.problems !== undefined;
  const note = problemLimit(2);
  const added = (after: Heartbeat, before?: Heartbeat) => {
    note({ after, ...(before ? { before } : {}) });
    return isKept(after);
  };
  const [first, second, third] = [told("one"), told("two"), told("three")];
  assert.deepEqual([first, second, third].map((each) => added(each)), [true, true, false]);
  assert.ok(third.report?.sync, "the counts stay");
  assert.ok(added(told("other", "b")), "another boundary has its own limit");
  const renewed = told("one");
  assert.ok(added(renewed, first));
  assert.ok(!added(told("three"), third));
  note({ before: renewed });
  assert.ok(added(told("three"), third), "there is room again");
});
