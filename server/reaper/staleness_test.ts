import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import { ANNOTATIONS, boundaryName } from "../../common/api/names.ts";
import type { Condition, Grant } from "../../common/api/resources.ts";
import { type Heartbeat, HEARTBEAT_INDEXES } from "../provider/heartbeats.ts";
import type { Moment, Observation } from "../provider/lease_watch.ts";
import { connectTimeMs, examine, isApproved, reapGuard, type Stale } from "./staleness.ts";

const SUBJECT = "https://idp.example.org#ada";
const BOUNDARY = boundaryName(SUBJECT);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const TTL = 30 * MINUTE;
const NOW = Date.parse("2026-05-01T12:00:00Z");
const READY = NOW - 10 * TTL;
const STEADY_NOW = 50_000_000;

const iso = (ms: number) => new Date(ms).toISOString();
const at = (wallMs: number, steadyMs = wallMs): Moment => ({ wallMs, steadyMs });
const ago = (ms: number) => at(NOW - ms, STEADY_NOW - ms);
const LONG_AGO = ago(100 * TTL);

const ready = (sinceMs: number, edit: Partial<Condition> = {}): Condition => {
  const state = { type: "Ready", status: "True", reason: "AsExpected", message: "" } as const;
  return { ...state, lastTransitionTime: iso(sinceMs), observedGeneration: 2, ...edit };
};

const CREATED = { name: "pg-1", uid: "g", generation: 2, creationTimestamp: iso(NOW - 11 * TTL) };

const grant = (conditions = [ready(READY)], edit: Partial<Grant["metadata"]> = {}): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { ...CREATED, ...edit },
  spec: { identity: { subject: SUBJECT }, exportName: "pg", apis: [{ name: "dbs.example.org" }] },
  status: { conditions },
});

const lease = (renewTimeMs: number, edit: Partial<Heartbeat> = {}): Heartbeat => {
  const creationTimestamp = iso(NOW - 5 * TTL);
  const metadata = { name: `lease-${renewTimeMs}`, namespace: BOUNDARY, creationTimestamp };
  const consumer = { connection: "pg-1", consumerUid: "c" };
  return { metadata, ...consumer, durationMs: MINUTE, seenMs: NOW, renewTimeMs, ...edit };
};

const renamed = (renewTimeMs: number) =>
  lease(renewTimeMs, { connection: "mine", durationMs: 7 * SECOND });

interface Known {
  readonly of?: Grant;
  readonly leases?: readonly Heartbeat[];
  readonly changedAgoMs?: number;
  readonly ttlMs?: number;
  /** Receives the filter for Connections whose changes count for the Grant. */
  readonly onObserve?: (concerns: (connection: string) => boolean) => void;
}

/** Examines a Grant beside another one, `pg-2`, in the same boundary. */
function examined({ of = grant(), leases = [], changedAgoMs, ttlMs = TTL, onObserve }: Known) {
  const lastChange = changedAgoMs === undefined ? {} : { lastChange: ago(changedAgoMs) };
  const grants = new Map([of, grant([], { name: "pg-2" })].map((one) => [one.metadata.name, one]));
  const deps: Parameters<typeof examine>[0] = {
    caches: {
      grants: { get: ({ name }) => grants.get(name) },
      heartbeats: {
        find: (index, value) =>
          leases.filter((lease) => [...HEARTBEAT_INDEXES[index](lease)].includes(value)).values(),
      },
    },
    leaseWatch: {
      observation: (_, concerns) => {
        onObserve?.(concerns);
        return { watchedSince: LONG_AGO, ...lastChange };
      },
    },
    config: { reaperTtlMs: ttlMs },
  };
  return examine(deps, of, at(NOW, STEADY_NOW));
}

Deno.test("examine() judges a Grant", async (t) => {
  type Judgement = "fresh" | "unjudged" | readonly [Stale["reason"], sinceMs: number];
  const without = ({ observedGeneration: _, ...rest }: Condition): Condition => rest;
  const forged = { metadata: { name: "forged", namespace: boundaryName("eve") } };
  const recreated = grant([ready(NOW - 2 * TTL)], { creationTimestamp: iso(NOW - 3 * TTL) });
  const fresh = [lease(NOW)];
  const old = (ttls: number) => lease(NOW - ttls * TTL);
  const ahead = (seenAgoMs: number) => [lease(NOW + 5 * TTL, { seenMs: NOW - seenAgoMs })];
  const expired = (agoMs: number) => ["LeaseExpired", NOW - agoMs] as const;
  const noLease = (agoMs: number) => ["NoLease", NOW - agoMs] as const;
  const readyFor = (ms: number, edit: Partial<Condition> = {}) => grant([ready(NOW - ms, edit)]);
  const table: [string, readonly Heartbeat[], Judgement, of?: Grant][] = [
    ["fresh: just renewed", [lease(NOW - 1)], "fresh"],
    ["fresh: as old as the TTL", [lease(NOW - TTL)], "fresh"],
    ["stale: older than the TTL", [lease(NOW - TTL - 1)], expired(TTL + 1)],
    ["stale since the newest Lease", [5, 2, 3].map(old), expired(2 * TTL)],
    ["fresh: one of several consumers renews", [old(5), lease(NOW)], "fresh"],
    ["stale: a future renewTime was seen before the TTL", ahead(TTL + 1), expired(TTL + 1)],
    ["fresh: a future renewTime was seen within the TTL", ahead(TTL), "fresh"],
    ["stale: forged in another boundary", [lease(NOW, forged)], ["NoLease", READY]],
    ["stale: left by an earlier Grant", [lease(NOW - 3 * TTL - 1)], noLease(2 * TTL), recreated],
    ["fresh: renewed under a renamed Connection", [renamed(NOW - TTL)], "fresh"],
    ["stale: renamed Connection is silent", [renamed(NOW - TTL - 1)], ["NoLease", READY]],
    ["stale: of another Grant", [lease(NOW, { connection: "pg-2" })], ["NoLease", READY]],
    ["stale: its own Lease beside a renamed Connection", [old(2), renamed(NOW)], expired(2 * TTL)],
    ["fresh: Ready within the TTL, no Lease", [], "fresh", readyFor(TTL)],
    ["stale: Ready before the TTL, no Lease", [], noLease(TTL + 1), readyFor(TTL + 1)],
    ["stale: Ready without a generation", [], ["NoLease", READY], grant([without(ready(READY))])],
    ["unjudged: no conditions", fresh, "unjudged", grant([])],
    ["unjudged: not Ready", fresh, "unjudged", readyFor(10 * TTL, { status: "False" })],
    ["unjudged: Ready for an old spec", fresh, "unjudged", readyFor(0, { observedGeneration: 1 })],
    ["unjudged: deleting", fresh, "unjudged", grant(undefined, { deletionTimestamp: iso(NOW) })],
    ["unjudged: Ready has no time", [], "unjudged", readyFor(0, { lastTransitionTime: "" })],
  ];
  for (const [name, leases, expected, of = grant()] of table) {
    await t.step(name, () => {
      const { staleness, sign } = examined({ leases, of });
      const { kind } = staleness;
      assert.deepEqual(kind === "stale" ? [staleness.reason, staleness.sinceMs] : kind, expected);
      assert.equal(sign === undefined, expected === "unjudged");
    });
  }
});

Deno.test("examine() distinguishes live and silent consumers", async (t) => {
  type Row = [string, Known, lastSignAgoMs: number, isLive: boolean, kind?: "stale"];
  const short = { durationMs: 8 * SECOND };
  const long = { durationMs: 10 * TTL };
  const shortTtl = { changedAgoMs: MINUTE, ttlMs: MINUTE + 1 };
  const own = (agoMs: number, edit: Partial<Heartbeat> = {}) => [lease(NOW - agoMs, edit)];
  const readyAgo = (ms: number) => grant([ready(NOW - ms)]);
  const among = (agoMs: number) => [lease(NOW - 50 * SECOND), ...own(agoMs, short), renamed(NOW)];
  const table: Row[] = [
    ["twice the duration", { leases: own(2 * MINUTE) }, 2 * MINUTE, true],
    ["longer", { leases: own(2 * MINUTE + 1), changedAgoMs: 120_001 }, 2 * MINUTE + 1, false],
    ["half the TTL, long duration", { leases: own(TTL / 2, long) }, TTL / 2, true],
    ["longer, long duration", { leases: own(TTL / 2 + 1, long) }, TTL / 2 + 1, false],
    ["stale", { leases: own(TTL + 1) }, TTL + 1, false, "stale"],
    ["stale, long duration", { leases: own(TTL + 1, long) }, TTL + 1, false, "stale"],
    ["stale but changing", { leases: own(2 * TTL), changedAgoMs: 120_000 }, 2 * TTL, true, "stale"],
    ["changed before half a short TTL", { leases: own(MINUTE), ...shortTtl }, MINUTE, false],
    ["newest own Lease, by its duration", { leases: among(16_000) }, 16_000, true],
    ["newest own Lease, longer", { leases: among(16_001) }, 16_001, false],
    ["renamed Connection, by its duration", { leases: [renamed(NOW - 14_000)] }, 14_000, true],
    ["renamed Connection, longer", { leases: [renamed(NOW - 14_001)] }, 14_001, false],
    ["renamed before Ready", { leases: [renamed(NOW - 11 * TTL)] }, 10 * TTL, false, "stale"],
    ["just Ready", { of: readyAgo(2 * MINUTE) }, 2 * MINUTE, true],
    ["Ready for longer", { of: readyAgo(2 * MINUTE + 1) }, 2 * MINUTE + 1, false],
  ];
  for (const [name, known, lastSignAgoMs, isLive, kind = "fresh"] of table) {
    await t.step(name, () => {
      const { staleness, sign } = examined(known);
      assert.equal(staleness.kind, kind);
      assert.deepEqual(sign, { lastSignMs: NOW - lastSignAgoMs, isLive, isApproved: false });
    });
  }
});

Deno.test("examine() calls a stale Grant moving for the quiet time after a change", () => {
  const stale = (changedAgoMs?: number) =>
    examined(changedAgoMs === undefined ? {} : { changedAgoMs }).staleness;
  const expected = { kind: "stale", reason: "NoLease", sinceMs: READY };
  const allowed = { ...expected, isMoving: false, mayReap: true };
  const guarded = { ...expected, isMoving: true, mayReap: false };
  assert.deepEqual(stale(), { ...allowed, notBeforeMs: LONG_AGO.wallMs + 2 * MINUTE });
  assert.deepEqual(stale(120_000), { ...allowed, notBeforeMs: NOW });
  assert.deepEqual(stale(119_999), { ...guarded, notBeforeMs: NOW + 1 });
});

Deno.test("examine() observes Connections named after the Grant or after no Grant", () => {
  const names = ["pg-1", "mine", "pg-2", ""];
  let observed: string[] | undefined;
  examined({ onObserve: (concerns) => observed = names.filter(concerns) });
  assert.deepEqual(observed, ["pg-1", "mine", ""]);
});

Deno.test("connectTimeMs() is the TTL, at most ten minutes", () => {
  assert.deepEqual([1, 600_000, TTL].map(connectTimeMs), [1, 600_000, 600_000]);
});

const boundAt = (time: string) =>
  grant(undefined, { annotations: { [ANNOTATIONS.boundAt]: time } });

Deno.test("reapGuard() waits", async (t) => {
  const watched = { watchedSince: at(NOW) };
  const long = { watchedSince: LONG_AGO };
  const changedIn = (ms: number) => ({ ...watched, lastChange: at(NOW + ms) });
  const bound = boundAt(iso(NOW));
  const table: [string, Observation, waitMs: number, { of?: Grant; ttlMs?: number }?][] = [
    ["two minutes of watching", watched, 2 * MINUTE],
    ["a TTL of watching if that is shorter", watched, 5_000, { ttlMs: 5_000 }],
    ["two minutes without a change", { ...long, lastChange: at(NOW) }, 2 * MINUTE],
    ["ten minutes after a bind", long, 10 * MINUTE, { of: bound }],
    ["a TTL after a bind if that is shorter", long, 5_000, { of: bound, ttlMs: 5_000 }],
    ["for the bind if that ends last", changedIn(1_000), 10 * MINUTE, { of: bound }],
    ["for the change if that ends last", changedIn(9 * MINUTE), 11 * MINUTE, { of: bound }],
  ];
  for (const [name, seen, waitMs, { of = grant(), ttlMs = TTL } = {}] of table) {
    await t.step(name, () => {
      const notBeforeMs = NOW + waitMs;
      for (const mayReap of [false, true]) {
        const now = at(notBeforeMs - (mayReap ? 0 : 1));
        assert.deepEqual(reapGuard(of, seen, ttlMs, now), { mayReap, notBeforeMs });
      }
    });
  }
  await t.step("for the first list of Leases", () => {
    assert.deepEqual(reapGuard(grant(), {}, 1, at(NOW)), { mayReap: false });
  });
  await t.step("for no bind at an invalid time", () => {
    assert.equal(reapGuard(boundAt("soon"), long, TTL, at(NOW)).mayReap, true);
  });
  await t.step("by the steady clock", () => {
    const mayReap = (now: Moment) =>
      reapGuard(grant(), { watchedSince: at(NOW, 1_000) }, TTL, now).mayReap;
    assert.equal(mayReap(at(NOW + 10 * TTL, 120_999)), false);
    assert.equal(mayReap(at(NOW - 10 * TTL, 121_000)), true);
  });
});

Deno.test("isApproved() accepts only the word approved", () => {
  const given = (value: string) => grant(undefined, { annotations: { [ANNOTATIONS.reap]: value } });
  const accepted = ["approved", "true", "Approved", ""].filter((value) => isApproved(given(value)));
  assert.deepEqual(accepted, ["approved"]);
  assert.equal(isApproved({ metadata: { name: "pg-1" } }), false);
  assert.equal(examined({ of: given("approved") }).sign?.isApproved, true);
});
