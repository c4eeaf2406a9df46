import { createHash } from "node:crypto";
import { decodeJwt } from "jose";
import { providerFailed, XbindError } from "../../../common/errors.ts";
import { unauthenticated, unavailable } from "../../errors.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { fieldsOf, textsIn } from "../../../common/shape.ts";
import { sleep, untilAborted } from "../../../common/time/wait.ts";
import { deadline } from "../../../common/time/deadline.ts";
import { Rate } from "../../../common/time/rate.ts";
import { ExpiringMap } from "../../../common/time/expiring_map.ts";
import { boundaryAccountOf, IssuedTokenError } from "./issued_token.ts";
import type { Identity } from "../../../common/api/wire.ts";
import {
  type ReviewedIdentity,
  TOKEN_DETAILS,
  type TokenDetails,
} from "../../authorization/kube_user.ts";

/** What a review needs. */
export interface TokenReviewDeps {
  readonly kube: Pick<KubeClient, "request">;
  readonly now: () => Date;
  /** A clock in milliseconds that never goes back; `performance.now` unless given. */
  readonly monotonicMs?: () => number;
  /** Delays a review; a timer unless given. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** Returns the owner of a token of the provider. */
export interface TokenReviews {
  /** Asks the provider unless the answer is remembered; throws if it refuses or does not answer. */
  review(token: string, signal?: AbortSignal): Promise<Identity>;
  /** The owner, if the provider accepted the token a moment ago. */
  known(token: string): Identity | undefined;
}

type Review = { readonly identity: ReviewedIdentity } | { readonly error: XbindError };

const PATH = "/apis/authentication.k8s.io/v1/tokenreviews";
const REVIEW_TIMEOUT_MS = 10_000;
const ACCEPTED_FOR_MS = 10_000;
const REFUSED_FOR_MS = 1_000;
const MAX_REMEMBERED = 1_000;
/** At most 20 reviews in any second. */
const RATE = { perSecond: 10, burst: 10, maxKeys: 1 };
const MAX_WAIT_MS = 2_000;

/** Reviews provider tokens at a limited rate, keeps answers briefly, and asks once per token. */
export const createTokenReviews = (deps: TokenReviewDeps): TokenReviews => {
  const { kube, now, monotonicMs, pause = sleep } = deps;
  const remembered = new ExpiringMap<Review>(MAX_REMEMBERED, now);
  const underway = new Map<string, Promise<Review>>();
  const rate = new Rate({ ...RATE, ...(monotonicMs && { now: monotonicMs }) });

  const ask = async (token: string, key: string): Promise<Review> => {
    const { taken, waitMs } = rate.take("reviews", MAX_WAIT_MS);
    if (!taken) {
      throw unavailable("verify the provider token", "too many tokens wait for their review", 2);
    }
    if (waitMs > 0) await pause(waitMs);
    const review = await askProvider(kube, token);
    const time = now().getTime();
    const endsAt = "error" in review
      ? time + REFUSED_FOR_MS
      : Math.min(time + ACCEPTED_FOR_MS, expiryOf(token));
    remembered.set(key, review, endsAt);
    return review;
  };

  return {
    async review(token, signal) {
      const key = keyOf(token);
      let review = remembered.get(key);
      if (!review) {
        // Callers share one request, so a caller that goes away must not abort it.
        const shared = underway.get(key) ?? ask(token, key).finally(() => underway.delete(key));
        underway.set(key, shared);
        review = await untilAborted(shared, signal);
      }
      if ("error" in review) throw review.error;
      return review.identity;
    },
    known(token) {
      const review = remembered.get(keyOf(token));
      return review && "identity" in review ? review.identity : undefined;
    },
  };
};

const keyOf = (token: string): string => createHash("sha256").update(token).digest("hex");

const askProvider = async (
  kube: TokenReviewDeps["kube"],
  token: string,
): Promise<Review> => {
  using limit = deadline(REVIEW_TIMEOUT_MS, undefined, tooSlow());
  try {
    const answer = await kube.request<unknown>("POST", PATH, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token },
    }, limit.signal);
    return reviewIn(answer);
  } catch (error) {
    if (error instanceof KubeError) return { error: impossible(reasonOf(error), error) };
    throw error;
  }
};

const reasonOf = ({ status }: KubeError): string => {
  if (status === 401 || status === 403) return "the gateway may not create token reviews there";
  return status === 0 ? "the provider did not answer" : "the provider refused the review";
};

/** Reads the TokenReview that the provider filled in; refuses accounts of boundaries. */
export const reviewIn = (answer: unknown): Review => {
  const status = fieldsOf(fieldsOf(answer).status);
  if (Object.keys(status).length === 0) {
    return { error: impossible("the provider's answer has no status") };
  }
  if (status.authenticated !== true) {
    return { error: unauthenticated("the provider does not accept the token") };
  }
  const { username, groups, uid, extra } = fieldsOf(status.user);
  if (typeof username !== "string" || username === "") {
    return { error: impossible("the provider named no user") };
  }
  const names = textsIn(groups);
  const holder = boundaryAccountOf(username, names);
  if (holder) return { error: new IssuedTokenError(holder) };
  return {
    identity: Object.freeze({
      subject: `kubernetes#${username}`,
      displayName: username,
      ...(names.length > 0 ? { groups: Object.freeze(names) } : {}),
      ...detailsIn(uid, extra),
    }),
  };
};

/** Keeps what authorizers may read besides the names. */
const detailsIn = (uid: unknown, extra: unknown): Pick<ReviewedIdentity, typeof TOKEN_DETAILS> => {
  const lists = Object.entries(fieldsOf(extra)).map(([key, values]) => [key, textsIn(values)]);
  const details: TokenDetails = {
    ...(typeof uid === "string" && uid ? { uid } : {}),
    ...(lists.length > 0 ? { extra: Object.fromEntries(lists) } : {}),
  };
  return Object.keys(details).length > 0 ? { [TOKEN_DETAILS]: details } : {};
};

const tooSlow = () =>
  new KubeError("Cannot review a token: no answer in time", {
    status: 0,
    reason: "DeadlineExceeded",
  });

const impossible = (reason: string, cause?: unknown) =>
  providerFailed("verify the provider token", reason, cause);

const expiryOf = (token: string): number => {
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === "number" ? exp * 1000 : Infinity;
  } catch {
    return Infinity; // not every provider token is a JWT
  }
};
