import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { AccessReviews, EXPORT_ACCESS } from "./access_reviews.ts";
import { ReviewPace } from "./review_pace.ts";

const USER = { user: "xbind:ada", groups: ["xbind:authenticated"] };
const QUESTION = { verb: "bind", resource: EXPORT_ACCESS, name: "widgets" } as const;

/** Makes reviews that get this answer, and the list of what they sent. */
function answering(answer: () => unknown) {
  const sent: unknown[] = [];
  const clock = { ms: 0 };
  const request = async <T>(_method: string, _path: string, body?: unknown): Promise<T> => {
    sent.push((body as { spec: unknown }).spec);
    return await answer() as T;
  };
  const kube = { request };
  const reviews = new AccessReviews({ kube, pace: new ReviewPace(), monotonicMs: () => clock.ms });
  return { sent, clock, reviews };
}

const status = (fields: object) => () => ({ status: fields });
const isUnavailable = (reason: RegExp) => (error: unknown) =>
  error instanceof XbindError && error.code === "UNAVAILABLE" && reason.test(error.message);

Deno.test("AccessReviews sends all that is known of the user, and keeps users apart by it", async () => {
  const { reviews, sent } = answering(status({ allowed: true }));
  const token = { ...USER, uid: "u-1", extra: { tier: ["gold"] } };
  assert.equal(await reviews.isAllowed(token, QUESTION), true);
  assert.equal(await reviews.isAllowed(USER, QUESTION), true);
  assert.equal(await reviews.isAllowed({ ...token }, QUESTION), true);
  const resourceAttributes = { verb: "bind", ...EXPORT_ACCESS, name: "widgets" };
  assert.deepEqual(sent, [{ ...token, resourceAttributes }, { ...USER, resourceAttributes }]);
});

Deno.test("AccessReviews accepts only a boolean as an answer", async (t) => {
  const answers = [{}, null, "yes", { status: null }, { status: { allowed: "true" } }];
  for (const answer of answers) {
    await t.step(JSON.stringify(answer), async () => {
      const { reviews } = answering(() => answer);
      await assert.rejects(reviews.isAllowed(USER, QUESTION), isUnavailable(/has no status/));
    });
  }
});

Deno.test("AccessReviews does not accept a refusal with an error as an answer", async () => {
  const failed = answering(status({ allowed: false, evaluationError: "webhook is down" }));
  const refused = isUnavailable(/authorizers failed/);
  await assert.rejects(failed.reviews.isAllowed(USER, QUESTION), refused);
  const allowed = answering(status({ allowed: true, evaluationError: "webhook is down" }));
  assert.equal(await allowed.reviews.isAllowed(USER, QUESTION), true);
  const reason = 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found';
  const dangling = answering(status({ allowed: false, reason }));
  assert.equal(await dangling.reviews.isAllowed(USER, QUESTION), false);
});

Deno.test("AccessReviews says why there is no answer", async (t) => {
  const failures: [number, RegExp][] = [
    [403, /may not create access reviews/],
    [0, /did not answer/],
    [500, /refused the review/],
  ];
  for (const [code, reason] of failures) {
    await t.step(String(code), async () => {
      const { reviews } = answering(() => {
        throw new KubeError("no", { status: code, reason: "Some" });
      });
      await assert.rejects(reviews.isAllowed(USER, QUESTION), isUnavailable(reason));
    });
  }
});

Deno.test("AccessReviews does not wait for a provider that hangs", async () => {
  const signals: AbortSignal[] = [];
  const request = <T>(...[, , , signal]: [string, string, unknown?, AbortSignal?]) => {
    if (signal) signals.push(signal);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const reviews = new AccessReviews({ kube: { request }, pace: new ReviewPace(), timeoutMs: 20 });
  await assert.rejects(reviews.isAllowed(USER, QUESTION), isUnavailable(/too slow/));
  assert.ok(signals.every(({ aborted }) => aborted));
  const gone = AbortSignal.abort(new Error("gone"));
  await assert.rejects(reviews.ask(USER, QUESTION, gone), /gone/);
});

Deno.test("AccessReviews asks again after 9 s, and delivers no older answer", async () => {
  const { reviews, sent, clock } = answering(status({ allowed: true }));
  await reviews.isAllowed(USER, QUESTION);
  clock.ms = 8_999;
  await reviews.isAllowed(USER, QUESTION);
  assert.equal(sent.length, 1);
  clock.ms = 9_000;
  await reviews.isAllowed(USER, QUESTION);
  assert.equal(sent.length, 2);
});
