import {
  type Grant,
  isDeleting,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { create, type EnsureDeps, put } from "./ensure.ts";
import { ACCOUNT_UID_ANNOTATION } from "./grant_objects.ts";
import { NotYet } from "./grant_status.ts";
import type { TokenTurns } from "./token_turns.ts";

/** What handling tokens needs. */
export interface TokenDeps extends EnsureDeps {
  readonly tokens: TokenTurns;
  readonly now: () => number;
}

/** How long Kubernetes may take to fill a Secret before the issuer recreates it. */
const PATIENCE_MS = 120_000;

/** Makes the token Secret of a Grant exist. Throws NotYet until Kubernetes has filled it. */
export async function putToken(
  deps: TokenDeps,
  grant: Grant,
  wanted: Secret,
  signal: AbortSignal,
): Promise<void> {
  const { kube, caches: { accounts, secrets }, tokens, now } = deps;
  const { name } = grant.metadata;
  const key = keyOf(wanted);
  const account = accounts.get({ name, namespace: key.namespace });
  if (!account) throw new NotYet("its account");
  const present = secrets.get(key);
  if (isTokenOf(account, present)) return await put(deps, wanted, signal);
  if (present) {
    await refuseIfInUse(kube, present, account, now(), signal);
    await deleteSecret(kube, present, signal);
  }
  const turn = tokens.tryTake(name, isUrgent(grant, now()));
  if (!turn) throw new NotYet("its token, behind those of other Grants");
  using _ = turn; // a variable of its own: esbuild inlines one that is read once, and drops `using`
  await create(deps, wanted, signal);
  // If it existed and was filled already, no event will tell.
  if (!isTokenOf(account, secrets.get(key))) throw new NotYet("its token", PATIENCE_MS);
}

/** Returns whether a bind is waiting for this Grant right now. */
export const isUrgent = (grant: Grant, nowMs: number): boolean =>
  Date.parse(grant.metadata.annotations?.[ANNOTATIONS.wantedUntil] ?? "") > nowMs;

/** Returns the UID of the account whose token is in a Secret; undefined if it has none. */
const accountOf = ({ metadata }: MetadataObject): string | undefined =>
  metadata.annotations?.[ACCOUNT_UID_ANNOTATION];

const isTokenOf = ({ metadata: { uid } }: MetadataObject, secret?: MetadataObject): boolean =>
  secret !== undefined && uid !== undefined && accountOf(secret) === uid;

/** Throws NotYet unless the Secret was left unfilled for too long, or is of an earlier account. */
async function refuseIfInUse(
  kube: KubeClient,
  secret: MetadataObject,
  { metadata: { name, namespace, uid } }: MetadataObject,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (accountOf(secret) === undefined) {
    const ageMs = nowMs - Date.parse(secret.metadata.creationTimestamp ?? "");
    if (ageMs < PATIENCE_MS) throw new NotYet("its token", PATIENCE_MS - ageMs);
    return;
  }
  // The cache of accounts may be older than that of Secrets.
  const live = await kube.find(SERVICE_ACCOUNTS, { name, namespace }, signal);
  if (live?.metadata.uid !== uid) throw new NotYet("its account");
}

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

/** Removes the finalizers of a terminating token Secret, because its name is needed again. */
export async function dropFinalizers(
  kube: KubeClient,
  { metadata: { name, namespace, resourceVersion = "" } }: MetadataObject,
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { resourceVersion, finalizers: null } };
  await kube.mergePatch(SECRETS, { name, namespace }, patch, FIELD_MANAGERS.issuer, signal);
}
