import { createHash } from "node:crypto";
import { decodeJwt } from "jose";
import { providerFailed, XbindError } from "../../../common/errors.ts";
import { unauthenticated, unavailable } from "../../errors.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { sleep, untilAborted } from "../../../common/time/wait.ts";
import { deadline } from "../../../common/time/deadline.ts";
import { ExpiringMap } from "./expiring_map.ts";
import { boundaryAccountOf, IssuedTokenError } from "./issued_token.ts";
import { ReviewRate } from "./review_rate.ts";
import type { Identity } from "./session.ts";

/** What a review needs. */
export interface TokenReviewDeps {
  readonly kube: Pick<KubeClient, "request">;
  readonly now: () => Date;
  /** A clock that never goes back; the process's own unless given. */
  readonly monotonicMs?: () => number;
  /** Puts a review off; a timer unless given. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** Whose the provider's tokens are. */
export interface TokenReviews {
  /** Asks the provider, unless it is known; throws when it is nobody's or cannot be asked. */
  review(token: string, signal?: AbortSignal): Promise<Identity>;
  /** Whose token it is, if the provider said so a moment ago. */
  known(token: string): Identity | undefined;
}

type Verdict = { readonly identity: Identity } | { readonly error: XbindError };

const PATH = "/apis/authentication.k8s.io/v1/tokenreviews";
const REVIEW_TIMEOUT_MS = 10_000;
const ACCEPTED_FOR_MS = 10_000;
const REFUSED_FOR_MS = 1_000;
const MAX_KNOWN = 1_000;
const RATE = { perSecond: 20, maxWaitMs: 2_000 };

/** Reviews of provider tokens: remembered shortly, shared by callers of one token, and rationed. */
export const createTokenReviews = (deps: TokenReviewDeps): TokenReviews => {
  const { kube, now, monotonicMs = () => performance.now(), pause = sleep } = deps;
  const remembered = new ExpiringMap<Verdict>(MAX_KNOWN, now);
  const underway = new Map<string, Promise<Verdict>>();
  const rate = new ReviewRate({ ...RATE, monotonicMs });

  const ask = async (token: string, key: string): Promise<Verdict> => {
    const waitMs = rate.reserve();
    if (waitMs === undefined) {
      throw unavailable("verify the provider token", "too many tokens wait for their review", 2);
    }
    if (waitMs > 0) await pause(waitMs);
    const verdict = await askProvider(kube, token);
    const time = now().getTime();
    const endsAt = "error" in verdict
      ? time + REFUSED_FOR_MS
      : Math.min(time + ACCEPTED_FOR_MS, expiryOf(token));
    remembered.set(key, verdict, endsAt);
    return verdict;
  };

  return {
    async review(token, signal) {
      const key = keyOf(token);
      let verdict = remembered.get(key);
      if (!verdict) {
        // One caller that goes away must not take the answer from the others.
        const shared = underway.get(key) ?? ask(token, key).finally(() => underway.delete(key));
        underway.set(key, shared);
        verdict = await untilAborted(shared, signal);
      }
      if ("error" in verdict) throw verdict.error;
      return verdict.identity;
    },
    known(token) {
      const verdict = remembered.get(keyOf(token));
      return verdict && "identity" in verdict ? verdict.identity : undefined;
    },
  };
};

const keyOf = (token: string): string => createHash("sha256").update(token).digest("hex");

const askProvider = async (
  kube: TokenReviewDeps["kube"],
  token: string,
): Promise<Verdict> => {
  using limit = deadline(REVIEW_TIMEOUT_MS, undefined, tooSlow());
  try {
    const answer = await kube.request<unknown>("POST", PATH, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token },
    }, limit.signal);
    return verdictIn(answer);
  } catch (error) {
    if (error instanceof KubeError) return { error: impossible(reasonOf(error), error) };
    throw error;
  }
};

const reasonOf = ({ status }: KubeError): string => {
  if (status === 401 || status === 403) return "the gateway may not create token reviews there";
  return status === 0 ? "the provider did not answer" : "the provider refused the review";
};

/** What a TokenReview says, as the provider filled it in; accounts of boundaries are refused. */
export const verdictIn = (answer: unknown): Verdict => {
  const status = fieldsOf(fieldsOf(answer).status);
  if (Object.keys(status).length === 0) {
    return { error: impossible("the provider's answer has no status") };
  }
  if (status.authenticated !== true) {
    return { error: unauthenticated("the provider does not accept the token") };
  }
  const { username, groups } = fieldsOf(status.user);
  if (typeof username !== "string" || username === "") {
    return { error: impossible("the provider named no user") };
  }
  const names = Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [];
  const holder = boundaryAccountOf(username, names);
  if (holder) return { error: new IssuedTokenError(holder) };
  return {
    identity: Object.freeze({
      subject: `kubernetes#${username}`,
      displayName: username,
      ...(names.length > 0 ? { groups: Object.freeze(names) } : {}),
    }),
  };
};

const tooSlow = () =>
  new KubeError("Cannot review a token: no answer in time", {
    status: 0,
    reason: "DeadlineExceeded",
  });

const impossible = (reason: string, cause?: unknown) =>
  providerFailed("verify the provider token", reason, cause);

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const expiryOf = (token: string): number => {
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === "number" ? exp * 1000 : Infinity;
  } catch {
    return Infinity; // not every provider token is a JWT
  }
};
