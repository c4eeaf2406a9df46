import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant } from "../../common/api/resources.ts";
import type { Heartbeat } from "../provider/heartbeats.ts";
import { ANNOTATIONS, boundaryName } from "../../common/api/names.ts";
import { examine, isApproved } from "./examine.ts";

const NOW = { wallMs: Date.parse("2026-05-01T12:00:00Z"), steadyMs: 50_000_000 };
const MINUTE = 60_000;
const SUBJECT = "https://idp.example.org#ada";

const ago = (ms: number) => ({ wallMs: NOW.wallMs - ms, steadyMs: NOW.steadyMs - ms });
const iso = (ms: number) => new Date(ms).toISOString();

const grant = (readyAgoMs = 300 * MINUTE, annotations: Record<string, string> = {}): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "pg-1", creationTimestamp: iso(ago(300 * MINUTE).wallMs), annotations },
  spec: { identity: { subject: SUBJECT }, exportName: "pg", apis: [{ name: "dbs.example.org" }] },
  status: {
    conditions: [{
      type: "Ready",
      status: "True",
      reason: "AsExpected",
      message: "",
      lastTransitionTime: iso(ago(readyAgoMs).wallMs),
    }],
  },
});

const lease = (renewedAgoMs: number, durationMs = MINUTE): Heartbeat => ({
  metadata: {
    name: "lease",
    namespace: boundaryName(SUBJECT),
    creationTimestamp: iso(ago(200 * MINUTE).wallMs),
  },
  connection: "pg-1",
  consumerUid: "c",
  durationMs,
  seenMs: NOW.wallMs,
  renewTimeMs: ago(renewedAgoMs).wallMs,
});

interface Known {
  readonly of?: Grant;
  readonly leases?: Heartbeat[];
  readonly changedAgoMs?: number;
  readonly ttlMs?: number;
}

function examined({ of = grant(), leases = [], changedAgoMs, ttlMs = 30 * MINUTE }: Known) {
  const view = { hasSynced: true, brokenForMs: () => undefined };
  const watched = { watchedSince: ago(200 * MINUTE) };
  const observation = () =>
    changedAgoMs === undefined ? watched : { ...watched, lastChange: ago(changedAgoMs) };
  return examine(
    {
      caches: {
        grants: { ...view, get: () => undefined, values: () => [of].values() },
        heartbeats: {
          ...view,
          get: () => undefined,
          values: () => leases.values(),
          find: () => leases.values(),
        },
      },
      leaseWatch: { observation },
      config: { reaperTtlMs: ttlMs },
    },
    of,
    NOW,
  );
}

Deno.test("examine() tells the living from the silent, stale or not yet", async (t) => {
  interface Row extends Known {
    readonly what: string;
    readonly kind: "fresh" | "stale";
    readonly isLive: boolean;
    readonly lastSignAgoMs: number;
  }
  const table: Row[] = [
    {
      what: "a renewed Lease lives",
      leases: [lease(2 * MINUTE)],
      kind: "fresh",
      isLive: true,
      lastSignAgoMs: 2 * MINUTE,
    },
    {
      what: "an overdue one is silent before it is stale",
      leases: [lease(2 * MINUTE + 1)],
      changedAgoMs: 2 * MINUTE + 1,
      kind: "fresh",
      isLive: false,
      lastSignAgoMs: 2 * MINUTE + 1,
    },
    {
      what: "a stale one is silent",
      leases: [lease(31 * MINUTE)],
      kind: "stale",
      isLive: false,
      lastSignAgoMs: 31 * MINUTE,
    },
    {
      what: "a stale one of a long duration is silent, too",
      leases: [lease(31 * MINUTE, 600 * MINUTE)],
      kind: "stale",
      isLive: false,
      lastSignAgoMs: 31 * MINUTE,
    },
    {
      what: "one that moves lives, though its clock is late",
      leases: [lease(90 * MINUTE)],
      changedAgoMs: 2 * MINUTE,
      kind: "stale",
      isLive: true,
      lastSignAgoMs: 90 * MINUTE,
    },
    {
      what: "one that moved before half a short TTL is silent, though it is guarded",
      leases: [lease(MINUTE)],
      changedAgoMs: MINUTE,
      ttlMs: MINUTE + 1,
      kind: "fresh",
      isLive: false,
      lastSignAgoMs: MINUTE,
    },
    {
      what: "a new Grant has a moment to connect",
      of: grant(MINUTE),
      kind: "fresh",
      isLive: true,
      lastSignAgoMs: MINUTE,
    },
    {
      what: "a Grant that never connected is silent since it became Ready",
      of: grant(20 * MINUTE),
      kind: "fresh",
      isLive: false,
      lastSignAgoMs: 20 * MINUTE,
    },
  ];
  for (const { what, kind, isLive, lastSignAgoMs, ...known } of table) {
    await t.step(what, () => {
      const { finding, sign } = examined(known);
      assert.equal(finding.kind, kind);
      assert.deepEqual(sign, { lastSignMs: ago(lastSignAgoMs).wallMs, isLive, isApproved: false });
    });
  }
  await t.step("a Grant that is not judged gives no sign", () => {
    const { status: _, ...pending } = grant();
    assert.deepEqual(examined({ of: pending }), {
      grant: pending,
      finding: { kind: "unjudged" },
    });
  });
});

Deno.test("isApproved() takes one word only", () => {
  const given = (value: string) => grant(0, { [ANNOTATIONS.reap]: value });
  assert.deepEqual(["approved", "true", "Approved", ""].map((value) => isApproved(given(value))), [
    true,
    false,
    false,
    false,
  ]);
  assert.equal(isApproved({ metadata: { name: "pg-1" } }), false);
  assert.equal(examined({ of: given("approved") }).sign?.isApproved, true);
});
