import type { AuditEvent } from "../scripts/controlplane/audit_events.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CLUSTER_ROLE_BINDINGS, condition, type Grant, GRANTS } from "../common/api/resources.ts";
import { sleep } from "../common/time/wait.ts";
import { apiRequestsDuring, isWrite } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, timed } from "./figure.ts";
import { letBind, SIGNED_IN } from "./let_bind.ts";
import type { Run } from "./scenario.ts";

const INTERVAL_MS = 5_000;
/** The pace of a sweep, as docs/who-may-bind.md tells it. */
const REVIEWS_A_SECOND = 50;
const MOST_IN_A_SECOND = 60;
const MOST_WRITES = 35;
const NAME = "bench-binders";

/** Measures how a sweep asks about many Grants, and what it writes when all lose the permission. */
export async function* benchAuthorizationSweep(run: Run): AsyncGenerator<Figure> {
  const { sized, progress } = run;
  const provider = await run.growingProvider();
  await provider.growTo({ exports: 1, grants: sized(1_000, 10_000) }, progress);
  const { kube, plane, size: { grants } } = provider;
  await letBind(kube, NAME, SIGNED_IN);
  await using backend = await BenchBackend.start(plane, {
    flags: [
      "--enable-gateway=false",
      "--authorization=Kubernetes",
      "--authorization-revoke",
      `--reaper-interval=${INTERVAL_MS}ms`,
    ],
  });
  await backend.ready();
  const sweepMs = grants / REVIEWS_A_SECOND * 1_000;

  progress(`a sweep over ${grants} Grants that keep the permission`);
  const kept = await apiRequestsDuring(plane, backend.user, async () => {
    await sleep(1.25 * sweepMs + 2 * INTERVAL_MS); // long enough for a whole sweep
  });
  const reviews = kept.filter(isReview);
  const writes = kept.filter(isGrantWrite).length;
  yield {
    name: `an authorization sweep over ${grants} Grants, nothing to revoke`,
    measured: `${perSecond(reviews, grants).toFixed(0)} reviews/s, at most ${most(reviews)} ` +
      `in a second, ${writes} writes`,
    comparedTo: "the API server's own record",
    goal: `≤ ${MOST_IN_A_SECOND} reviews in a second, 0 writes`,
    met: reviews.length >= grants && most(reviews) <= MOST_IN_A_SECOND && writes === 0,
  };

  progress(`all ${grants} Grants lose the permission`);
  let markedMs = 0;
  const lost = await apiRequestsDuring(plane, backend.user, async () => {
    await kube.delete(CLUSTER_ROLE_BINDINGS, { name: NAME });
    markedMs = await timed(() =>
      eventually("all Grants are marked", async () => {
        return (await kube.list(GRANTS)).every(lostPermission);
      }, { timeoutMs: 3_600_000, everyMs: 15_000 })
    );
    await sleep(sweepMs + 2 * INTERVAL_MS); // the next sweep may revoke what is confirmed
  });
  const deletes = lost.filter(({ verb }) => verb === "delete").length;
  const mostWrites = most(lost.filter(isGrantWrite));
  const mostReviews = most(lost.filter(isReview));
  yield {
    name: `all ${grants} Grants lose the permission together`,
    measured: `all marked after ${(markedMs / 1_000).toFixed(0)} s, ${deletes} deletes; at most ` +
      `${mostReviews} reviews and ${mostWrites} writes of Grants in a second`,
    comparedTo: "revocation is on hold",
    goal: `0 deletes, ≤ ${MOST_IN_A_SECOND} reviews and ≤ ${MOST_WRITES} writes in a second`,
    met: deletes === 0 && mostReviews <= MOST_IN_A_SECOND && mostWrites <= MOST_WRITES,
  };
}

const lostPermission = (grant: Grant): boolean =>
  condition(grant, "Authorized")?.reason === "PermissionLost";
const isReview = ({ objectRef }: AuditEvent): boolean =>
  objectRef?.resource === "subjectaccessreviews";
const isGrantWrite = (event: AuditEvent): boolean =>
  isWrite(event) && event.objectRef?.resource === "grants";

/** The pace of the first `count` requests. */
function perSecond(events: readonly AuditEvent[], count: number): number {
  const [first = 0, ...rest] = events.map(receivedMs).sort((a, b) => a - b).slice(0, count);
  return rest.length / (((rest.at(-1) ?? Infinity) - first) / 1_000);
}

/** The largest number of requests in any second. */
function most(events: readonly AuditEvent[]): number {
  const times = events.map(receivedMs).sort((a, b) => a - b);
  let longest = 0;
  let from = 0;
  for (const [to, time] of times.entries()) {
    while (time - (times[from] ?? time) >= 1_000) from++;
    longest = Math.max(longest, to - from + 1);
  }
  return longest;
}

const receivedMs = ({ requestReceivedTimestamp }: AuditEvent): number =>
  Date.parse(requestReceivedTimestamp);
