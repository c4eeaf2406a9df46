import { Buffer } from "node:buffer";
import { KubeError } from "../../common/kube/kube_error.ts";
import { ExpiringMap } from "../../common/time/expiring_map.ts";
import { asked, type ReviewDeps } from "./access_reviews.ts";
import { type CatalogRights, rightsIn } from "./catalog_rights.ts";
import { CLUSTER_USERS, EVERYBODY, type KubeUser } from "./kube_user.ts";

const PATH = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
/** No namespace can have this name, so no RoleBinding adds rules that hold in a namespace only. */
const NO_NAMESPACE = "no.namespace";
/** How long a refusal counts: an upgrade or a new role may allow the question later. */
const REFUSED_FOR_MS = 60_000;
const MAX_REFUSED = 1_000;
const MAX_HEADER_BYTES = 32 * 1024;

/** Kubernetes adds `system:authenticated` to every impersonated user without this group. */
const STRANGERS = "system:unauthenticated";
/** Nobody can be impersonated as a member, and a member may do everything. */
const MASTERS = "system:masters";
const ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/;

type Headers = Readonly<Record<string, string | string[]>>;

/**
 * Asks for all rights of a user at once, in one question. The API server answers it only about the
 * user who asks, so the gateway asks as the user. It needs the right to impersonate for this one
 * question, which Kubernetes 1.36 and later can give.
 */
export class RulesReviews {
  readonly #deps: ReviewDeps;
  readonly #nobody: KubeUser;
  readonly #refusedUsers: ExpiringMap<true>;
  #refusedUntilMs = -Infinity;
  #nobodyUntilMs = -Infinity;
  #isNobodyRefused: Promise<boolean> = Promise.resolve(false);

  /** `userPrefix` makes the name of a user that no identity has. */
  constructor(deps: ReviewDeps, userPrefix: string) {
    this.#deps = deps;
    this.#nobody = { user: `${userPrefix}nobody`, groups: [EVERYBODY] };
    this.#refusedUsers = new ExpiringMap(MAX_REFUSED, () => new Date(this.#nowMs()));
  }

  /** Returns the rights, or undefined if the provider does not answer this question. */
  async rightsOf(user: KubeUser, signal?: AbortSignal): Promise<CatalogRights | undefined> {
    if (this.#nowMs() < this.#refusedUntilMs || this.#refusedUsers.get(user.user)) return undefined;
    const headers = impersonating(user);
    if (!headers) return undefined;
    try {
      return rightsIn(await this.#ask(user.user, headers, signal));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const untilMs = this.#nowMs() + REFUSED_FOR_MS;
      this.#refusedUsers.set(user.user, true, untilMs);
      if (await this.#refusesAnybody()) this.#refusedUntilMs = untilMs;
      return undefined;
    }
  }

  /** Returns whether the question is refused about anybody; asks at most once a minute. */
  #refusesAnybody(): Promise<boolean> {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#nobodyUntilMs) {
      this.#nobodyUntilMs = nowMs + REFUSED_FOR_MS;
      const { user } = this.#nobody;
      this.#isNobodyRefused = this.#ask(user, impersonating(this.#nobody) ?? {})
        .then(() => false, isRefusal);
    }
    return this.#isNobodyRefused;
  }

  async #ask(user: string, headers: Headers, signal?: AbortSignal): Promise<unknown> {
    await this.#deps.pace.turn(user, signal);
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: NO_NAMESPACE },
    };
    return await asked(this.#deps, PATH, review, { headers, signal });
  }

  #nowMs(): number {
    return (this.#deps.monotonicMs ?? (() => performance.now()))();
  }
}

/** Returns whether the API server, or a proxy before it, does not accept this form of question. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof KubeError &&
  [400, 403, 404, 405].includes(error.cause.status);

/** Returns the headers that make the gateway exactly this user; undefined if none do. */
export function impersonating({ user, groups }: KubeUser): Headers | undefined {
  const sent = ACCOUNT.test(user) ? groupsOfAccount(user, groups) : groupsOfUser(user, groups);
  if (!sent || ![user, ...sent].every(isHeaderText)) return undefined;
  const [name = "", ...rest] = [user, ...sent].map(inBytes);
  if (rest.reduce((bytes, each) => bytes + each.length, name.length) > MAX_HEADER_BYTES) {
    return undefined;
  }
  return { "Impersonate-User": name, "Impersonate-Group": rest };
}

/** Kubernetes adds the groups of a ServiceAccount itself, and refuses them in headers. */
function groupsOfAccount(user: string, groups: readonly string[]): string[] | undefined {
  const [, namespace = ""] = ACCOUNT.exec(user) ?? [];
  const own = [CLUSTER_USERS, "system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const isUsual = groups.length === own.length && own.every((group) => groups.includes(group));
  return isUsual ? [] : undefined;
}

/** Other users of Kubernetes itself, such as nodes, need other rights to impersonate. */
function groupsOfUser(user: string, groups: readonly string[]): string[] | undefined {
  if (user.startsWith("system:") || groups.includes(MASTERS)) return undefined;
  return groups.includes(CLUSTER_USERS) ? [...groups] : [...groups, STRANGERS];
}

/** A header has no control characters, and no blanks at its ends: the name would be another. */
const isHeaderText = (text: string): boolean =>
  // deno-lint-ignore no-control-regex
  text.isWellFormed() && /^[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$/.test(text);

/** Headers are sent as one byte per character; the API server reads them as UTF-8. */
const inBytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
