import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Grant } from "../../common/api/resources.ts";
import type { Heartbeat } from "../provider/heartbeats.ts";
import { ANNOTATIONS, boundaryName } from "../../common/api/names.ts";
import type { Moment, Observation } from "../provider/lease_watch.ts";
import {
  concerns,
  connectTimeMs,
  isHeardOf,
  isMoving,
  judge,
  mayRevoke,
  newestSign,
  type Signs,
  signsOf,
  type Verdict,
} from "./staleness.ts";

const SUBJECT = "https://idp.example.org#ada";
const TTL = 30 * 60_000;
const NOW = Date.parse("2026-05-01T12:00:00Z");
const FRESH: Verdict = { kind: "fresh" };
const UNJUDGED: Verdict = { kind: "unjudged" };

const iso = (ms: number) => new Date(ms).toISOString();

const ready = (sinceMs: number, edit: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "",
  lastTransitionTime: iso(sinceMs),
  observedGeneration: 2,
  ...edit,
});

const grant = (
  { conditions = [ready(NOW - 10 * TTL)], metadata = {} }: {
    conditions?: Condition[];
    metadata?: Partial<Grant["metadata"]>;
  } = {},
): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: {
    name: "pg-1",
    uid: "g",
    generation: 2,
    creationTimestamp: iso(NOW - 11 * TTL),
    ...metadata,
  },
  spec: { identity: { subject: SUBJECT }, exportName: "pg", apis: [{ name: "dbs.example.org" }] },
  status: { conditions },
});

const lease = (renewTimeMs: number, edit: Partial<Heartbeat> = {}): Heartbeat => ({
  metadata: {
    name: `lease-${renewTimeMs}`,
    namespace: boundaryName(SUBJECT),
    creationTimestamp: iso(NOW - 5 * TTL),
  },
  connection: "pg-1",
  consumerUid: "c",
  durationMs: 60_000,
  seenMs: NOW,
  renewTimeMs,
  ...edit,
});

const elsewhere = (renewTimeMs: number): Heartbeat =>
  lease(renewTimeMs, { metadata: { name: "forged", namespace: boundaryName("eve") } });

const signs = (
  leases: readonly Heartbeat[],
  of = grant(),
  grants = ["pg-1", "pg-2"],
): Signs => {
  const inBoundary = leases.filter(({ metadata }) => metadata.namespace === boundaryName(SUBJECT));
  return signsOf(of, { own: leases, inBoundary, isGrant: (name) => grants.includes(name) }, NOW);
};

const verdict = (leases: readonly Heartbeat[], of?: Grant, grants?: string[]): Verdict =>
  judge(signs(leases, of, grants), TTL, NOW);

const stale = (reason: "LeaseExpired" | "NoLease", sinceMs: number): Verdict => ({
  kind: "stale",
  reason,
  sinceMs,
});

Deno.test("judge()", async (t) => {
  const READY = NOW - 10 * TTL;
  const table: [string, Verdict, Verdict][] = [
    ["finds a renewed Lease fresh", verdict([lease(NOW - 1)]), FRESH],
    ["finds a Lease as old as the TTL fresh", verdict([lease(NOW - TTL)]), FRESH],
    [
      "finds a Lease older than the TTL expired",
      verdict([lease(NOW - TTL - 1)]),
      stale("LeaseExpired", NOW - TTL - 1),
    ],
    [
      "goes by the newest Lease, whatever the order",
      verdict([lease(NOW - 5 * TTL), lease(NOW - 2 * TTL), lease(NOW - 3 * TTL)]),
      stale("LeaseExpired", NOW - 2 * TTL),
    ],
    [
      "is content with one of several consumers",
      verdict([lease(NOW - 5 * TTL), lease(NOW)]),
      FRESH,
    ],
    [
      "counts a renewTime of the future from when it was seen",
      verdict([lease(NOW + TTL, { seenMs: NOW - TTL - 1 })]),
      stale("LeaseExpired", NOW - TTL - 1),
    ],
    [
      "finds a renewTime of the future fresh while it was seen within the TTL",
      verdict([lease(NOW + 5 * TTL, { seenMs: NOW - TTL })]),
      FRESH,
    ],
    [
      "ignores a Lease forged in another boundary",
      verdict([elsewhere(NOW)]),
      stale("NoLease", READY),
    ],
    [
      "ignores what an earlier Grant of that name left behind",
      verdict(
        [lease(NOW - 3 * TTL - 1)],
        grant({
          conditions: [ready(NOW - 2 * TTL)],
          metadata: { creationTimestamp: iso(NOW - 3 * TTL) },
        }),
      ),
      stale("NoLease", NOW - 2 * TTL),
    ],
    [
      "lets a fresh Lease of a renamed Connection keep the Grant alive",
      verdict([lease(NOW - TTL, { connection: "mine" })]),
      FRESH,
    ],
    [
      "does not when that Lease is older than the TTL",
      verdict([lease(NOW - TTL - 1, { connection: "mine" })]),
      stale("NoLease", READY),
    ],
    [
      "does not when that Lease belongs to another Grant",
      verdict([lease(NOW, { connection: "pg-2" })]),
      stale("NoLease", READY),
    ],
    [
      "lets the expired Lease of its own name decide over a renamed Connection",
      verdict([lease(NOW - 2 * TTL), lease(NOW, { connection: "mine" })]),
      stale("LeaseExpired", NOW - 2 * TTL),
    ],
    [
      "finds a Grant without a Lease fresh until Ready is older than the TTL",
      verdict([], grant({ conditions: [ready(NOW - TTL)] })),
      FRESH,
    ],
    [
      "finds a Grant without a Lease stale from then on",
      verdict([], grant({ conditions: [ready(NOW - TTL - 1)] })),
      stale("NoLease", NOW - TTL - 1),
    ],
    [
      "takes Ready without a generation for current",
      verdict([], grant({ conditions: [withoutGeneration(ready(READY))] })),
      stale("NoLease", READY),
    ],
    ["does not judge a Grant without conditions", verdict([], grant({ conditions: [] })), UNJUDGED],
    [
      "does not judge a Grant that is not Ready",
      verdict([lease(NOW - 2 * TTL)], grant({ conditions: [ready(READY, { status: "False" })] })),
      UNJUDGED,
    ],
    [
      "does not judge a Grant whose Ready is about an older spec",
      verdict([], grant({ conditions: [ready(READY, { observedGeneration: 1 })] })),
      UNJUDGED,
    ],
    [
      "does not judge a Grant that is being deleted",
      verdict([], grant({ metadata: { deletionTimestamp: iso(NOW) } })),
      UNJUDGED,
    ],
    [
      "does not judge a Grant whose Ready has no time",
      verdict([], grant({ conditions: [ready(READY, { lastTransitionTime: "soon" })] })),
      UNJUDGED,
    ],
  ];
  for (const [does, actual, expected] of table) {
    await t.step(does, () => assert.deepEqual(actual, expected));
  }
});

Deno.test("newestSign()", async (t) => {
  const old = grant({ conditions: [ready(NOW - 10 * TTL)] });
  const at = (leases: readonly Heartbeat[], of = old) => newestSign(signs(leases, of));
  const renamed = (ms: number) => lease(ms, { connection: "mine", durationMs: 7_000 });
  const table: [string, unknown, unknown][] = [
    [
      "is the newest own renewal, with its duration",
      at([lease(NOW - 9), lease(NOW - 5, { durationMs: 8_000 }), lease(NOW - 7), renamed(NOW)]),
      { atMs: NOW - 5, durationMs: 8_000 },
    ],
    ["is a renamed one else", at([renamed(NOW - 5)]), { atMs: NOW - 5, durationMs: 7_000 }],
    ["is the time it became Ready else", at([]), { atMs: NOW - 10 * TTL, durationMs: 60_000 }],
    [
      "is the later of these two",
      at([renamed(NOW - 11 * TTL)]),
      { atMs: NOW - 10 * TTL, durationMs: 60_000 },
    ],
    ["is none for a Grant that is not judged", at([], grant({ conditions: [] })), undefined],
  ];
  for (const [does, actual, expected] of table) {
    await t.step(does, () => assert.deepEqual(actual, expected));
  }
});

Deno.test("isHeardOf() waits for twice the duration, and half the TTL at most", () => {
  const heard = (durationMs: number, agoMs: number) =>
    isHeardOf({ atMs: NOW - agoMs, durationMs }, TTL, NOW);
  assert.deepEqual([120_000, 120_001].map((ago) => heard(60_000, ago)), [true, false]);
  assert.deepEqual([TTL / 2, TTL / 2 + 1].map((ago) => heard(10 * TTL, ago)), [true, false]);
});

function withoutGeneration({ observedGeneration: _, ...rest }: Condition): Condition {
  return rest;
}

Deno.test("concerns() takes the Grant's own name and names of nobody", () => {
  const isGrant = (name: string) => ["pg-1", "pg-2"].includes(name);
  const about = (connection?: string) => concerns(grant(), connection, isGrant);
  assert.deepEqual([about("pg-1"), about("mine"), about("pg-2"), about()], [
    true,
    true,
    false,
    false,
  ]);
});

const at = (wallMs: number, steadyMs = wallMs): Moment => ({ wallMs, steadyMs });
const boundAt = (ms: number) =>
  grant({ metadata: { annotations: { [ANNOTATIONS.boundAt]: iso(ms) } } });

Deno.test("connectTimeMs() is the TTL, at most ten minutes", () => {
  assert.deepEqual([1, 600_000, TTL].map(connectTimeMs), [1, 600_000, 600_000]);
});

Deno.test("mayRevoke()", async (t) => {
  const MINUTES = 60_000;
  interface Row {
    readonly does: string;
    readonly seen: Observation;
    readonly ttlMs?: number;
    readonly of?: Grant;
    /** The first moment at which revoking is allowed. */
    readonly from: number;
  }
  const LONG_AGO = at(NOW - 100 * TTL);
  const table: Row[] = [
    {
      does: "waits for two minutes of watching",
      seen: { watchedSince: at(NOW) },
      from: NOW + 2 * MINUTES,
    },
    {
      does: "waits for a TTL of watching when that is shorter",
      seen: { watchedSince: at(NOW) },
      ttlMs: 5_000,
      from: NOW + 5_000,
    },
    {
      does: "waits for two minutes without a change",
      seen: { watchedSince: LONG_AGO, lastChange: at(NOW) },
      from: NOW + 2 * MINUTES,
    },
    {
      does: "waits for ten minutes after a bind",
      seen: { watchedSince: LONG_AGO },
      of: boundAt(NOW),
      from: NOW + 10 * MINUTES,
    },
    {
      does: "waits for a TTL after a bind when that is shorter",
      seen: { watchedSince: LONG_AGO },
      of: boundAt(NOW),
      ttlMs: 5_000,
      from: NOW + 5_000,
    },
    {
      does: "waits for whatever ends last, the bind",
      seen: { watchedSince: at(NOW), lastChange: at(NOW + 1_000) },
      of: boundAt(NOW),
      from: NOW + 10 * MINUTES,
    },
    {
      does: "waits for whatever ends last, the change",
      seen: { watchedSince: at(NOW), lastChange: at(NOW + 9 * MINUTES) },
      of: boundAt(NOW),
      from: NOW + 11 * MINUTES,
    },
  ];
  for (const { does, seen, ttlMs = TTL, of = grant(), from } of table) {
    await t.step(does, () => {
      const early = mayRevoke(of, seen, ttlMs, at(from - 1));
      assert.deepEqual(early, { isAllowed: false, notBeforeMs: from });
      assert.deepEqual(mayRevoke(of, seen, ttlMs, at(from)), {
        isAllowed: true,
        notBeforeMs: from,
      });
    });
  }

  await t.step("never allows it before the Leases were listed", () => {
    assert.deepEqual(mayRevoke(grant(), {}, 1, at(NOW)), { isAllowed: false });
  });
  await t.step("ignores a bind time that is none", () => {
    const of = grant({ metadata: { annotations: { [ANNOTATIONS.boundAt]: "soon" } } });
    assert.equal(mayRevoke(of, { watchedSince: LONG_AGO }, TTL, at(NOW)).isAllowed, true);
  });
  await t.step("measures its watching on the steady clock", () => {
    const seen = { watchedSince: at(NOW, 1_000) };
    assert.equal(mayRevoke(grant(), seen, TTL, at(NOW + 10 * TTL, 120_999)).isAllowed, false);
    assert.equal(mayRevoke(grant(), seen, TTL, at(NOW - 10 * TTL, 121_000)).isAllowed, true);
  });
});

Deno.test("isMoving() holds for the quiet time after a change", () => {
  const moving = (afterMs: number) => isMoving({ lastChange: at(NOW) }, TTL, at(NOW + afterMs));
  assert.equal(moving(119_999), true);
  assert.equal(moving(120_000), false);
  assert.equal(isMoving({ watchedSince: at(NOW) }, TTL, at(NOW)), false);
});
