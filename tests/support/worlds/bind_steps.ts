import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { type Grant, GRANTS } from "../../../common/api/resources.ts";
import type { BindResult } from "../../../common/api/wire.ts";
import { bindExport } from "../../../server/bind/bind.ts";
import { consumePickup } from "../../../server/bind/pickup.ts";
import { type ErrorCode, XbindError } from "../../../common/errors.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import type { BindWorld } from "./bind_world.ts";
import { connect, type Connected } from "../planes/kube.ts";

/** Returns a signal that aborts after far longer than any step takes. */
export const patience = (): AbortSignal => AbortSignal.timeout(60_000);

/** Returns the token in the pickup URL of a bind. */
export const tokenOf = ({ pickupURL }: { pickupURL: string }): string =>
  pickupURL.replace("/api/bundle/", "");

/** Returns a check for `assert.rejects` that demands this error code. */
export const hasCode = (wanted: ErrorCode) => (error: unknown): boolean => {
  assert.ok(error instanceof XbindError, String(error));
  assert.equal(error.code, wanted, error.message);
  return true;
};

/** Binds an Export as this user. */
export const bind = (
  world: BindWorld,
  name: string,
  edit = {},
  who = "ada",
): Promise<BindResult> => bindExport(world.deps(edit), world.identity(who), name, patience());

/** Consumes a pickup. */
export const pickUp = (
  world: BindWorld,
  token: string,
  now = () => new Date(),
): Promise<Grant> => consumePickup({ kube: world.kube, now }, token, patience());

/** Connects a client that counts its requests by method. */
export async function counting(
  plane: ControlPlane,
): Promise<Connected & { readonly counts: Record<string, number> }> {
  const counts: Record<string, number> = {};
  const onAnswer = (method: string) => void (counts[method] = (counts[method] ?? 0) + 1);
  return Object.assign(await connect(plane, { onAnswer }), { counts });
}

/** Changes the metadata of a Grant as another client. */
export async function patchGrant(
  world: BindWorld,
  name: string,
  metadata: object,
): Promise<void> {
  const { resourceVersion = "" } = (await world.grant(name)).metadata;
  const patch = { metadata: { resourceVersion, ...metadata } };
  await world.kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.installer);
}
