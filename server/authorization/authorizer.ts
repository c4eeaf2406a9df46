import type { Identity } from "../../common/api/wire.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { forEachAtOnce } from "../../common/time/slots.ts";
import { mayNotBind, mayNotSee, type Refusal } from "../errors.ts";
import { AccessReviews, EXPORT_ACCESS, GRANT_ACCESS, reviewFailed } from "./access_reviews.ts";
import { type CatalogRights, catalogRights, includes, type Names } from "./catalog_rights.ts";
import { Kept } from "./kept.ts";
import { type KubeUser, kubeUserOf, type NamePrefixes, userKey } from "./kube_user.ts";
import { ReviewPace } from "./review_pace.ts";
import { RulesReviews } from "./rules_review.ts";

/** What the authorizer needs. */
export interface AuthorizerDeps {
  readonly kube: Pick<KubeClient, "request">;
  readonly prefixes: NamePrefixes;
  /** A clock in milliseconds that never goes back; `performance.now` unless given. */
  readonly monotonicMs?: () => number;
}

const MAX_IDENTITIES = 1_000;
/** More names would take more reviews than a provider should have to answer for one catalog. */
const MAX_BY_NAME = 100;
const BY_NAME_AT_ONCE = 8;

/**
 * Says what the provider's RBAC lets signed-in callers do. No answer is older than 9 s.
 * If the provider does not answer, every question fails.
 */
export class Authorizer {
  readonly #prefixes: NamePrefixes;
  readonly #reviews: AccessReviews;
  readonly #rules: RulesReviews;
  readonly #rights: Kept<CatalogRights>;
  readonly #users = new WeakMap<Identity, KubeUser>();

  constructor(deps: AuthorizerDeps) {
    const { prefixes, monotonicMs } = deps;
    const reviewDeps = { ...deps, pace: new ReviewPace() };
    this.#prefixes = prefixes;
    this.#reviews = new AccessReviews(reviewDeps);
    this.#rules = new RulesReviews(reviewDeps, prefixes.authorizationUserPrefix);
    this.#rights = new Kept(MAX_IDENTITIES, monotonicMs);
  }

  /** Returns the names under which RBAC knows the identity. */
  userOf(identity: Identity): KubeUser {
    const known = this.#users.get(identity) ?? kubeUserOf(this.#prefixes, identity);
    this.#users.set(identity, known);
    return known;
  }

  /** Throws unless the identity may see and bind the Export. */
  async checkBind(identity: Identity, exportName: string, signal?: AbortSignal): Promise<void> {
    const { sees, binds } = await this.#rightsTo(identity, exportName, signal);
    if (!sees) throw mayNotSee(this.#refusal(identity, "get", exportName));
    if (!binds) throw mayNotBind(this.#refusal(identity, "bind", exportName));
  }

  /**
   * Throws unless the owner of a pickup may still see and bind the Export. The owner knows the
   * Export, so the error names it.
   */
  async checkPickup(identity: Identity, exportName: string, signal?: AbortSignal): Promise<void> {
    const { sees, binds } = await this.#rightsTo(identity, exportName, signal);
    if (!binds) throw mayNotBind(this.#refusal(identity, "bind", exportName));
    if (!sees) throw mayNotBind(this.#refusal(identity, "get", exportName));
  }

  /** Throws unless the identity may see the Export. */
  async checkSee(identity: Identity, exportName: string, signal?: AbortSignal): Promise<void> {
    if (await this.#maySee(identity, exportName, signal)) return;
    throw mayNotSee(this.#refusal(identity, "get", exportName));
  }

  /** Returns whether the identity may bind the Export. */
  async mayBind(identity: Identity, exportName: string, signal?: AbortSignal): Promise<boolean> {
    const question = { verb: "bind", resource: EXPORT_ACCESS, name: exportName } as const;
    return await this.#reviews.isAllowed(this.userOf(identity), question, signal);
  }

  /** Returns whether the identity may see the clusters and objects of all others. */
  async mayListGrants(identity: Identity, signal?: AbortSignal): Promise<boolean> {
    const question = { verb: "list", resource: GRANT_ACCESS } as const;
    return await this.#reviews.isAllowed(this.userOf(identity), question, signal);
  }

  /** Returns what the identity may do with the Exports of these names. */
  async catalogRights(
    identity: Identity,
    exportNames: () => readonly string[],
    signal?: AbortSignal,
  ): Promise<CatalogRights> {
    const user = this.userOf(identity);
    return await this.#rights.get(
      userKey(user),
      async (inTime) =>
        await this.#rules.rightsOf(user, inTime) ??
          await this.#rightsByReviews(user, exportNames(), inTime),
      signal,
    );
  }

  async #rightsTo(identity: Identity, exportName: string, signal?: AbortSignal) {
    const [sees, binds] = await Promise.all([
      this.#maySee(identity, exportName, signal),
      this.mayBind(identity, exportName, signal),
    ]);
    return { sees, binds };
  }

  async #maySee(identity: Identity, exportName: string, signal?: AbortSignal): Promise<boolean> {
    const question = { verb: "get", resource: EXPORT_ACCESS, name: exportName } as const;
    return await this.#reviews.isAllowed(this.userOf(identity), question, signal);
  }

  /** Asks about all Exports at once; if that is refused, about each of them. */
  async #rightsByReviews(
    user: KubeUser,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<CatalogRights> {
    const may = (verb: "get" | "bind", name?: string) => {
      const question = { verb, resource: EXPORT_ACCESS, ...(name ? { name } : {}) };
      return this.#reviews.ask(user, question, signal);
    };
    const [seesAll, bindsAll] = await Promise.all([may("get"), may("bind")]);
    const isLong = names.length > MAX_BY_NAME;
    if (!seesAll && isLong) throw tooManyToAsk();
    const see: Names = seesAll ? "all" : await chosen(names, (name) => may("get", name));
    const visible = names.filter((name) => includes(see, name));
    if (bindsAll) return catalogRights(see, "all");
    // In a long catalog nothing is shown as locked; a bind still asks.
    if (visible.length > MAX_BY_NAME) return catalogRights(see, "unknown");
    return catalogRights(see, await chosen(visible, (name) => may("bind", name)));
  }

  #refusal(identity: Identity, verb: Refusal["verb"], exportName: string): Refusal {
    const { user } = this.userOf(identity);
    return { subject: identity.subject, user, verb, export: exportName };
  }
}

/** Returns the names for which the answer is yes. */
async function chosen(
  names: readonly string[],
  ask: (name: string) => Promise<boolean>,
): Promise<Set<string>> {
  const found = new Set<string>();
  await forEachAtOnce(names, BY_NAME_AT_ONCE, async (name) => {
    if (await ask(name)) found.add(name);
  });
  return found;
}

const tooManyToAsk = () =>
  reviewFailed(
    `the catalog has over ${MAX_BY_NAME} Exports, and the provider's API server does not tell ` +
      "which of them you may see; its administrator finds the remedy under --authorization",
  );
