import type { Clusters, Identity, PendingGrant } from "../../common/api/wire.ts";

/** Says how far the user's bind of an Export has come. */
export type BoundState = "live" | "silent" | "pending";

/** Returns the Exports that the user has bound, each with the best state of the user's Grants. */
export function boundExports(
  { clusters, pending = [] }: Clusters,
  me: Identity,
  identity: string | undefined,
): Map<string, BoundState> {
  const bound = new Map<string, BoundState>();
  for (const grant of pending) if (isMine(grant, me, identity)) bound.set(grant.export, "pending");
  for (const { bindings } of clusters) {
    for (const { export: name, subject, live } of bindings) {
      if (subject !== me.subject || bound.get(name) === "live") continue;
      bound.set(name, live ? "live" : "silent");
    }
  }
  return bound;
}

/** Returns whether an unused Grant belongs to the user. */
export const isMine = (
  { grant, identity: displayName }: PendingGrant,
  me: Identity,
  identity: string | undefined,
): boolean =>
  // The row has no subject, but the name of a Grant ends in the hash of its subject.
  identity === undefined
    ? displayName !== undefined && displayName === me.displayName
    : grant.endsWith(`-${identity}`);

/** Returns the hash of a subject in Grant names; undefined if the browser has no digests. */
export async function identityHash(subject: string): Promise<string | undefined> {
  const { subtle } = crypto as { subtle?: SubtleCrypto }; // only on https and localhost
  const digest = await subtle?.digest("SHA-256", new TextEncoder().encode(subject));
  if (!digest) return undefined;
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return hex.join("").slice(0, 20);
}
