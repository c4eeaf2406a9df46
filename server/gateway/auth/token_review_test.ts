import assert from "node:assert/strict";
import { UnsecuredJWT } from "jose";
import { XbindError } from "../../../common/errors.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { TOKEN_DETAILS } from "../../authorization/kube_user.ts";
import { IssuedTokenError } from "./issued_token.ts";
import { createTokenReviews, reviewIn } from "./token_review.ts";

const accepted = (username: string) => ({
  status: { authenticated: true, user: { username, groups: ["system:authenticated"] } },
});
const REFUSED = { status: { user: {}, error: "invalid bearer token" } };

const START_MS = 1_000_000;

/** Makes a provider that counts its token reviews. */
const provider = (answer: (token: string) => unknown = () => accepted("ada")) => {
  const clock = { ms: START_MS };
  const asked: string[] = [];
  const paused: { readonly ms: number; readonly resume: () => void }[] = [];
  const request = async <T>(_method: string, path: string, body?: unknown): Promise<T> => {
    assert.equal(path, "/apis/authentication.k8s.io/v1/tokenreviews");
    const { token } = (body as { spec: { token: string } }).spec;
    asked.push(token);
    return await answer(token) as T;
  };
  const reviews = createTokenReviews({
    kube: { request },
    now: () => new Date(clock.ms),
    monotonicMs: () => clock.ms,
    pause: (ms) => new Promise((resume) => void paused.push({ ms, resume })),
  });
  return { clock, asked, paused, reviews, review: reviews.review };
};

const hasCode = (code: string) => (error: unknown) =>
  error instanceof XbindError && error.code === code;

Deno.test("reviewIn() reads the provider's answer", async (t) => {
  await t.step("a user with groups", () => {
    assert.deepEqual(reviewIn(accepted("system:serviceaccount:a:b")), {
      identity: {
        subject: "kubernetes#system:serviceaccount:a:b",
        displayName: "system:serviceaccount:a:b",
        groups: ["system:authenticated"],
      },
    });
  });
  await t.step("uid and extra, which no answer shows", () => {
    const extra = { "example.org/tier": ["gold", 7] };
    const review = reviewIn({
      status: { authenticated: true, user: { username: "ada", uid: "u-1", extra } },
    });
    assert.ok("identity" in review);
    const details = { uid: "u-1", extra: { "example.org/tier": ["gold"] } };
    assert.deepEqual(review.identity[TOKEN_DETAILS], details);
    assert.deepEqual(JSON.parse(JSON.stringify(review.identity)), {
      subject: "kubernetes#ada",
      displayName: "ada",
    });
  });
  const { status } = accepted("x");
  const refusals: readonly [string, unknown, string][] = [
    ["not authenticated", REFUSED, "UNAUTHENTICATED"],
    ["authenticated as text", { status: { ...status, authenticated: "true" } }, "UNAUTHENTICATED"],
    ["no user name", { status: { authenticated: true, user: {} } }, "PROVIDER_FAILED"],
    ["no status", {}, "PROVIDER_FAILED"],
    ["null", null, "PROVIDER_FAILED"],
  ];
  for (const [name, answer, code] of refusals) {
    await t.step(name, () => {
      const review = reviewIn(answer);
      assert.ok("error" in review && review.error.code === code);
    });
  }
});

Deno.test("reviewIn() refuses ServiceAccounts of boundaries, by user name or by group", async (t) => {
  const boundary = "xbind-1e2b05bb961197f0952d";
  const group = `system:serviceaccounts:${boundary}`;
  const cases: readonly [string, string, unknown, string?][] = [
    ["a Grant's account", `system:serviceaccount:${boundary}:w-1`, [group], "w-1"],
    ["default", `system:serviceaccount:${boundary}:default`, [group], "default"],
    ["without groups", `system:serviceaccount:${boundary}:w-1`, undefined, "w-1"],
    ["a mapped user name", "robot", ["system:authenticated", group], "robot"],
    ["another namespace", "system:serviceaccount:xbind:default", ["system:serviceaccounts:xbind"]],
    ["a person of such a name", boundary, ["system:authenticated"]],
    ["a group that only begins so", "ada", [`${group}0`, `x${group}`]],
  ];
  for (const [name, username, groups, account] of cases) {
    await t.step(name, () => {
      const review = reviewIn({ status: { authenticated: true, user: { username, groups } } });
      if (account === undefined) return assert.ok("identity" in review);
      assert.ok("error" in review && review.error instanceof IssuedTokenError);
      assert.equal(review.error.code, "UNAUTHENTICATED");
      assert.deepEqual(review.error.holder, { namespace: boundary, account });
    });
  }
});

Deno.test("createTokenReviews() remembers a positive answer for ten seconds, or until the token expires", async () => {
  const expiring = new UnsecuredJWT().setExpirationTime(START_MS / 1000 + 3).encode();
  for (const [token, ms] of [["opaque", 10_000], [expiring, 3_000]] as const) {
    const { clock, asked, review } = provider();
    await review(token);
    clock.ms += ms - 1;
    assert.equal((await review(token)).subject, "kubernetes#ada");
    assert.equal(asked.length, 1);
    clock.ms += 1;
    await review(token);
    assert.equal(asked.length, 2);
  }
});

Deno.test("createTokenReviews() remembers a failure for one second", async (t) => {
  const lost = { status: 0, reason: "ConnectionFailed" };
  const down = new KubeError("Cannot post: connection refused to 10.0.0.1", lost);
  const denied = new KubeError('User "system:x" cannot', { status: 403, reason: "Forbidden" });
  const cases: readonly [string, () => unknown, string, RegExp][] = [
    ["a refused token", () => REFUSED, "UNAUTHENTICATED", /does not accept the token/],
    ["a provider that is down", () => Promise.reject(down), "PROVIDER_FAILED", /did not answer$/],
    ["no right to review", () => Promise.reject(denied), "PROVIDER_FAILED", /may not create/],
  ];
  for (const [name, answer, code, message] of cases) {
    await t.step(name, async () => {
      const { clock, asked, review } = provider(answer);
      await assert.rejects(review("t"), hasCode(code));
      clock.ms += 999;
      await assert.rejects(review("t"), message);
      assert.equal(asked.length, 1);
      clock.ms += 1;
      await assert.rejects(review("t"), hasCode(code));
      assert.equal(asked.length, 2);
    });
  }
});

Deno.test("createTokenReviews() asks once for concurrent callers, even if one disconnects", async () => {
  const gate = Promise.withResolvers<unknown>();
  const { asked, review } = provider(() => gate.promise);
  const gone = new AbortController();
  const first = assert.rejects(review("t", gone.signal), /gone away/);
  const others = [review("t"), review("t")];
  gone.abort(new Error("gone away"));
  await first;
  gate.resolve(accepted("ada"));
  for (const { subject } of await Promise.all(others)) assert.equal(subject, "kubernetes#ada");
  assert.deepEqual(asked, ["t"]);
});

Deno.test("createTokenReviews() delays reviews beyond its rate, and refuses those that would wait too long", async () => {
  const { asked, paused, review } = provider();
  await Promise.all(Array.from({ length: 10 }, (_, i) => review(`t${i}`)));
  assert.equal(asked.length, 10);
  const waiting = Array.from({ length: 20 }, (_, i) => review(`w${i}`));
  await assert.rejects(
    review("one too many"),
    (error) => hasCode("UNAVAILABLE")(error) && (error as XbindError).retryAfterSeconds === 2,
  );
  assert.equal((await review("t0")).subject, "kubernetes#ada", "known tokens need no review");
  assert.deepEqual(paused.map(({ ms }) => ms), Array.from({ length: 20 }, (_, i) => (i + 1) * 100));
  assert.equal(asked.length, 10);
  for (const { resume } of paused) resume();
  await Promise.all(waiting);
  assert.equal(asked.length, 30);
});

Deno.test("TokenReviews.known() makes no call, and knows only recently accepted tokens", async () => {
  const { clock, asked, reviews } = provider((token) =>
    token === "good" ? accepted("ada") : REFUSED
  );
  assert.equal(reviews.known("good"), undefined);
  await reviews.review("good");
  await assert.rejects(reviews.review("bad"));
  assert.equal(reviews.known("good")?.subject, "kubernetes#ada");
  assert.equal(reviews.known("bad"), undefined);
  clock.ms += 10_000;
  assert.equal(reviews.known("good"), undefined);
  assert.deepEqual(asked, ["good", "bad"]);
});
