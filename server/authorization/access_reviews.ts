import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { XbindError } from "../../common/errors.ts";
import { fieldsOf } from "../../common/shape.ts";
import { deadline } from "../../common/time/deadline.ts";
import { unavailable } from "../errors.ts";
import { Kept } from "./kept.ts";
import { type KubeUser, userKey } from "./kube_user.ts";
import type { ReviewPace } from "./review_pace.ts";

/** What a user may or may not do; without a name it means every object. */
export interface Question {
  readonly verb: "get" | "bind" | "list";
  readonly resource: typeof EXPORT_ACCESS | typeof GRANT_ACCESS;
  readonly name?: string;
}

/** The resources that questions are about, which are cluster-scoped. */
export const EXPORT_ACCESS = { group: "catalog.xbind.io", resource: "exports" } as const;
export const GRANT_ACCESS = { group: "iam.xbind.io", resource: "grants" } as const;

const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const TIMEOUT_MS = 5_000;
const MAX_ANSWERS = 20_000;

/** What reviews need. */
export interface ReviewDeps {
  readonly kube: Pick<KubeClient, "request">;
  readonly pace: ReviewPace;
  /** A clock in milliseconds that never goes back; `performance.now` unless given. */
  readonly monotonicMs?: () => number;
  /** For tests; otherwise 5 s. */
  readonly timeoutMs?: number;
}

/** Asks the provider what a user may do. Each answer counts for 9 s. */
export class AccessReviews {
  readonly #deps: ReviewDeps;
  readonly #answers: Kept<boolean>;

  constructor(deps: ReviewDeps) {
    this.#deps = deps;
    this.#answers = new Kept(MAX_ANSWERS, deps.monotonicMs);
  }

  /** Returns whether the user may; throws UNAVAILABLE if the provider does not say. */
  async isAllowed(user: KubeUser, question: Question, signal?: AbortSignal): Promise<boolean> {
    const { verb, resource: { resource }, name = "" } = question;
    const key = JSON.stringify([userKey(user), verb, resource, name]);
    return await this.#answers.get(key, (inTime) => this.ask(user, question, inTime), signal);
  }

  /** Asks the provider now, for an answer that is kept elsewhere. */
  async ask(user: KubeUser, question: Question, signal?: AbortSignal): Promise<boolean> {
    await this.#deps.pace.turn(user.user, signal);
    const { verb, resource, name } = question;
    const resourceAttributes = { verb, ...resource, ...(name === undefined ? {} : { name }) };
    const answer = await asked(this.#deps, PATH, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { ...user, resourceAttributes },
    }, { signal });
    return isAllowedBy(answer);
  }
}

/**
 * Reads the answer to a SubjectAccessReview. A refusal with an error is no answer: an authorizer
 * that could have allowed it failed. A role that RBAC does not find is not such an error.
 */
function isAllowedBy(answer: unknown): boolean {
  const { allowed, evaluationError } = fieldsOf(fieldsOf(answer).status);
  if (typeof allowed !== "boolean") throw reviewFailed("the provider's answer has no status");
  if (!allowed && evaluationError) throw reviewFailed("one of the provider's authorizers failed");
  return allowed;
}

/** How a review is sent. */
export interface AskedOptions {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a review and returns the answer; throws UNAVAILABLE if there is none. */
export async function asked(
  { kube, timeoutMs = TIMEOUT_MS }: ReviewDeps,
  path: string,
  review: object,
  { headers = {}, signal }: AskedOptions = {},
): Promise<unknown> {
  using limit = deadline(timeoutMs, signal, () => reviewFailed("the provider is too slow"));
  try {
    return await kube.request<unknown>("POST", path, review, limit.signal, headers);
  } catch (error) {
    throw error instanceof KubeError ? reviewFailed(reasonOf(error), error) : error;
  }
}

/** Builds the error for a request of which nobody can say whether it is allowed. */
export const reviewFailed = (reason: string, cause?: KubeError): XbindError => {
  const error = unavailable("check what you may do", reason, 2);
  error.cause = cause;
  return error;
};

const reasonOf = ({ status }: KubeError): string => {
  if (status === 401 || status === 403) return "the gateway may not create access reviews there";
  return status === 0 ? "the provider did not answer" : "the provider refused the review";
};
