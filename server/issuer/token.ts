import { isDeleting, type Secret, SECRETS, SERVICE_ACCOUNTS } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { backoffStep } from "../../common/time/backoff.ts";
import { ACCOUNT_UID_ANNOTATION } from "./grant_objects.ts";
import { ensure } from "./ensure.ts";
import type { IssuerCaches } from "./issued_caches.ts";
import type { TokenSlots } from "./token_turns.ts";

/** How long an unfilled Secret is left alone before it is made anew: 60 s, doubling to 5 min. */
const PATIENCE = { baseMs: 60_000, capMs: 300_000 };

/** What the token of a Grant is waiting for; `lookAgainMs` when only time will tell. */
export type TokenState =
  | { readonly filled: true }
  | { readonly filled: false; readonly waitsFor: string; readonly lookAgainMs?: number };

/** What handling tokens needs. */
export interface TokenDeps {
  readonly kube: KubeClient;
  readonly caches: Pick<IssuerCaches, "accounts" | "secrets">;
  readonly slots: TokenSlots;
  /** How often the Secret of a Grant was made anew. */
  readonly remakes: Map<string, number>;
  readonly now: () => number;
}

/** Makes the token Secret of an account exist and says whether Kubernetes has filled it. */
export async function ensureToken(
  deps: TokenDeps,
  wanted: Secret,
  account: MetadataObject,
  urgent: boolean,
  signal: AbortSignal,
): Promise<TokenState> {
  const { kube, caches: { secrets }, slots, remakes, now } = deps;
  const grant = account.metadata.name;
  const key = { name: wanted.metadata.name, namespace: wanted.metadata.namespace };
  const cached = secrets.get(key);
  if (cached) {
    const tokenOf = accountOf(cached);
    if (tokenOf !== undefined && tokenOf === account.metadata.uid) {
      remakes.delete(grant);
      await ensure(kube, { type: SECRETS, object: wanted, cache: secrets }, signal);
      return { filled: true };
    }
    const patience = backoffStep(remakes.get(grant) ?? 0, PATIENCE);
    const age = now() - Date.parse(cached.metadata.creationTimestamp ?? "");
    if (tokenOf === undefined) slots.asked(grant, key);
    if (tokenOf === undefined && age < patience) {
      return { filled: false, waitsFor: "its token", lookAgainMs: patience - age };
    }
    if (tokenOf === undefined) remakes.set(grant, (remakes.get(grant) ?? 0) + 1);
    else if (!await isCurrent(kube, account, signal)) {
      return { filled: false, waitsFor: "its account" };
    }
    await deleteSecret(kube, cached, signal);
  }
  if (!slots.take(grant, urgent)) {
    return { filled: false, waitsFor: "its token, behind those of other Grants" };
  }
  // The cached Secret, if any, is the one just deleted.
  const cache = { get: () => undefined, learn: secrets.learn.bind(secrets) };
  await ensure(kube, { type: SECRETS, object: wanted, cache }, signal);
  slots.asked(grant, key);
  // It may have been there and filled already, if the watch lags behind: no event would tell.
  const made = secrets.get(key);
  if (made && account.metadata.uid && accountOf(made) === account.metadata.uid) {
    slots.release(grant);
    return { filled: true };
  }
  return { filled: false, waitsFor: "its token", lookAgainMs: PATIENCE.baseMs };
}

/** UID of the account whose token is in a Secret; undefined as long as there is none. */
const accountOf = ({ metadata }: MetadataObject): string | undefined =>
  metadata.annotations?.[ACCOUNT_UID_ANNOTATION];

/** Whether the account is the one that exists: the cache may lag behind that of the Secrets. */
async function isCurrent(
  kube: KubeClient,
  { metadata: { name, namespace, uid } }: MetadataObject,
  signal: AbortSignal,
): Promise<boolean> {
  const live = await kube.find(SERVICE_ACCOUNTS, { name, namespace }, signal);
  return live?.metadata.uid === uid;
}

/** Also ends one that somebody keeps from going by a finalizer: its name is needed again. */
async function deleteSecret(
  kube: KubeClient,
  secret: MetadataObject,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, resourceVersion = "" } = secret.metadata;
  try {
    if (isDeleting(secret)) return await dropFinalizers(kube, secret, signal);
    await kube.delete(SECRETS, { name, namespace }, { ...uid && { uid }, resourceVersion }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Lets a terminating token Secret go. */
export async function dropFinalizers(
  kube: KubeClient,
  { metadata: { name, namespace, resourceVersion = "" } }: MetadataObject,
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { resourceVersion, finalizers: null } };
  await kube.mergePatch(SECRETS, { name, namespace }, patch, FIELD_MANAGERS.issuer, signal);
}
