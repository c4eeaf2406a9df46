import { KubeError } from "../../common/kube/kube_error.ts";
import { asked, type ReviewDeps } from "./access_reviews.ts";
import { type CatalogRights, hasNothing, rightsIn } from "./catalog_rights.ts";
import { Kept } from "./kept.ts";
import { CLUSTER_USERS, type KubeUser } from "./kube_user.ts";

const PATH = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
/** No namespace can have this name, so no RoleBinding adds rules that hold in a namespace only. */
const NO_NAMESPACE = "no.namespace";
/** How long a refusal counts: an upgrade or a new role may allow the question later. */
const REFUSED_FOR_MS = 60_000;
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Asks for all rights of a user at once. The API server answers this question only about the user
 * who asks, so the gateway asks as the user. It needs the right to impersonate for this one
 * question, which Kubernetes 1.36 and later can give.
 */
export class RulesReviews {
  readonly #deps: ReviewDeps;
  readonly #nobodyName: string;
  readonly #nobody: Kept<boolean>;
  #refusedUntilMs = -Infinity;

  /** `userPrefix` makes the name of a user that no identity has. */
  constructor(deps: ReviewDeps, userPrefix: string) {
    this.#deps = deps;
    this.#nobodyName = `${userPrefix}nobody`;
    this.#nobody = new Kept(1, deps.monotonicMs);
  }

  /** Returns the rights, or undefined if they cannot be had in this way. */
  async rightsOf(user: KubeUser): Promise<CatalogRights | undefined> {
    if (!canBeNamed(user) || this.#nowMs() < this.#refusedUntilMs) return undefined;
    try {
      // Kubernetes adds this group to every user who is impersonated.
      const isAdded = !user.groups.includes(CLUSTER_USERS);
      if (isAdded && await this.#nobody.get("", () => this.#mayNobodyDoAnything())) {
        return undefined;
      }
      return rightsIn(await this.#ask(user));
    } catch (error) {
      if (!(error instanceof Error) || !isRefusal(error.cause)) throw error;
      this.#refusedUntilMs = this.#nowMs() + REFUSED_FOR_MS;
      return undefined;
    }
  }

  /** Tells whether the group that Kubernetes adds gives rights, which would then seem the user's. */
  async #mayNobodyDoAnything(): Promise<boolean> {
    const rights = rightsIn(await this.#ask({ user: this.#nobodyName, groups: [] }));
    return !rights || !hasNothing(rights);
  }

  async #ask({ user, groups }: KubeUser): Promise<unknown> {
    await this.#deps.pace.turn(user);
    return await asked(this.#deps.kube, PATH, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: NO_NAMESPACE },
    }, { "Impersonate-User": user, "Impersonate-Group": [...groups] });
  }

  #nowMs(): number {
    return (this.#deps.monotonicMs ?? (() => performance.now()))();
  }
}

/** Tells that the API server, or a proxy before it, does not accept the question in this form. */
const isRefusal = (cause: unknown): boolean =>
  cause instanceof KubeError && [400, 403, 404, 405].includes(cause.status);

/** A header has no blanks at its ends and ASCII only: another name would become a different one. */
const HEADER_TEXT = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Kubernetes' own users, such as ServiceAccounts, need other rights to impersonate. */
const canBeNamed = ({ user, groups }: KubeUser): boolean =>
  !user.startsWith("system:") &&
  [user, ...groups].every((name) => HEADER_TEXT.test(name)) &&
  groups.reduce((bytes, group) => bytes + group.length, user.length) < MAX_HEADER_BYTES;
