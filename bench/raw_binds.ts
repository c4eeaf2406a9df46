import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  EXPORTS,
  type Grant,
  GRANTS,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../common/api/resources.ts";
import {
  ACCOUNT_UID_ANNOTATION,
  type GrantObjects,
  grantObjects,
} from "../server/issuer/grant_objects.ts";
import { ISSUED, statusUpdate } from "../server/issuer/grant_status.ts";
import { isFilled } from "../server/issuer/issued_caches.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { metadataObjects } from "../common/kube/follow.ts";
import { keyOf } from "../common/kube/paths.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../common/api/names.ts";
import { running } from "../tests/support/planes/kube.ts";
import { API, EXPORT, grantFor } from "./samples.ts";

/** The duration of a raw bind in milliseconds. */
export interface RawBind {
  /** From reading the Export to Ready. */
  readonly bindMs: number;
  /** From the creation of the Grant to its Ready. */
  readonly grantMs: number;
}

/**
 * Makes the API calls of a bind directly, in the only possible order: each needs the result of the
 * previous one. No issuer may run meanwhile, because it would make the same calls.
 */
export class RawBinds implements AsyncDisposable {
  readonly #kube: KubeClient;
  readonly #secrets: ReturnType<typeof secretCache>;
  readonly #following: AsyncDisposable;

  private constructor(
    kube: KubeClient,
    secrets: ReturnType<typeof secretCache>,
    following: AsyncDisposable,
  ) {
    this.#kube = kube;
    this.#secrets = secrets;
    this.#following = following;
  }

  static async start(kube: KubeClient): Promise<RawBinds> {
    const secrets = secretCache();
    return new RawBinds(kube, secrets, await running(secrets, kube));
  }

  /** Makes only the dependent calls, which are the lower limit of any bind. */
  async chain(subject: string): Promise<RawBind> {
    const desired = desiredOf(subject);
    const took = await this.#bind(subject, desired, () => Promise.resolve());
    await this.#giveRights(desired); // so that the next issuer need not
    return took;
  }

  /** Makes all calls of a bind, in parallel where possible. */
  async everything(subject: string): Promise<RawBind> {
    const desired = desiredOf(subject);
    return await this.#bind(subject, desired, () => this.#giveRights(desired));
  }

  async #giveRights(
    { role, roleBinding, clusterRole, clusterRoleBinding }: GrantObjects,
  ): Promise<void> {
    await Promise.all([
      this.#kube.create(ROLES, role, FIELD_MANAGERS.issuer),
      this.#kube.create(ROLE_BINDINGS, roleBinding, FIELD_MANAGERS.issuer),
      this.#kube.create(CLUSTER_ROLES, clusterRole, FIELD_MANAGERS.issuer),
      this.#kube.create(CLUSTER_ROLE_BINDINGS, clusterRoleBinding, FIELD_MANAGERS.issuer),
    ]);
  }

  async #bind(
    subject: string,
    { boundary, account, tokenSecret }: GrantObjects,
    meanwhile: () => Promise<void>,
  ): Promise<RawBind> {
    const kube = this.#kube;
    const { issuer, gateway } = FIELD_MANAGERS;
    const wanted = grantFor(subject, {
      [ANNOTATIONS.pickupSha256]: "0".repeat(64),
      [ANNOTATIONS.pickupExpiry]: new Date().toISOString(),
      [ANNOTATIONS.boundAt]: new Date().toISOString(),
    });
    const start = performance.now();
    await kube.get(EXPORTS, { name: EXPORT });
    const grantStart = performance.now();
    const grant = await kube.create(GRANTS, wanted, gateway);
    await kube.create(NAMESPACES, boundary, issuer);
    const provisionAccount = async () => {
      await kube.create(SERVICE_ACCOUNTS, account, issuer);
      await kube.create(SECRETS, tokenSecret, issuer);
      await this.#secrets.waitFor(keyOf(tokenSecret), isFilled, AbortSignal.timeout(60_000));
    };
    await Promise.all([provisionAccount(), meanwhile()]);
    const status = statusUpdate(grant, ISSUED, new Date()) as Grant;
    await kube.applyStatus(GRANTS, status, issuer);
    const readyAt = performance.now();
    return { bindMs: readyAt - start, grantMs: readyAt - grantStart };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#following[Symbol.asyncDispose]();
  }
}

const desiredOf = (subject: string): GrantObjects =>
  grantObjects(grantFor(subject), [API], { issuerScope: "Cluster" });

const secretCache = () =>
  new Cache(metadataObjects(SECRETS, { labelSelector: LABELS.grant }, {
    annotations: [ACCOUNT_UID_ANNOTATION],
  }));
