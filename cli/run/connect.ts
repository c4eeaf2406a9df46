import { DEPLOYMENTS } from "../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { clientOf } from "../gateway/connect.ts";
import type { Io } from "../terminal/io.ts";
import { findServer } from "../gateway/settings.ts";
import type { WriteOptions } from "../options.ts";
import { applyObjects } from "../../common/consumer/apply_objects.ts";
import { boundNeeds, konnectorObjects, rightsLine } from "../consumer/bound_rights.ts";
import { type Consumer, timeLimit, withConsumer, writesTo } from "../consumer/connect_consumer.ts";
import { previewObjects } from "../consumer/rehearse_apply.ts";
import { clusterText } from "../consumer/consumer_failure.ts";
import { imageOf } from "../consumer/check_manifest.ts";
import {
  installedKonnector,
  type KonnectorPlan,
  planKonnector,
} from "../consumer/konnector_plan.ts";
import { requireRights, rightsToApply } from "../consumer/rights.ts";
import { untilReady } from "../consumer/until_ready.ts";

/** The flags of `kubectl bind connect`. */
export interface ConnectOptions extends WriteOptions {
  readonly konnectorImage?: string | undefined;
  /** Whether the konnector may use bound APIs only; undefined leaves it as it is. */
  readonly boundGroups?: boolean | undefined;
}

/** Installs or upgrades the konnector on the consumer cluster. */
export async function runConnect(io: Io, options: ConnectOptions): Promise<void> {
  const { konnectorImage, timeoutMs, dryRun, wait, boundGroups } = options;
  const server = konnectorImage === undefined ? await findServer(io, options) : undefined;
  const gateway = server && await clientOf(io, server);
  await withConsumer(io, options, async (consumer) => {
    using limit = timeLimit(timeoutMs, io.signal);
    const { signal } = limit;
    const plan = await planKonnector(gateway, konnectorImage, signal);
    await requireRights(consumer, rightsToApply(plan.objects), signal);
    sayTarget(io, consumer);
    await sayImage(io, consumer, plan, signal);
    const needs = await boundNeeds(consumer.kube, boundGroups, signal);
    if (needs) io.say(rightsLine(needs));
    const objects = konnectorObjects(plan, needs);
    if (dryRun) {
      await previewObjects(io, consumer, objects, signal);
      return io.say("Dry run: nothing was changed");
    }
    const writes = writesTo(io, consumer, signal);
    const stored = await applyObjects(writes, objects, FIELD_MANAGERS.installer);
    const deployments = stored.filter(({ kind }) => kind === DEPLOYMENTS.kind);
    if (wait) await untilReady(io, consumer, deployments, signal);
    io.say("The konnector is installed. Bind an Export with: kubectl bind export <name>");
  });
}

/** Prints which cluster the command writes to. */
export const sayTarget = (io: Pick<Io, "say">, { target, version }: Consumer): void =>
  io.say(`Consumer cluster: ${clusterText(target)}, Kubernetes ${version}`);

/** Prints the image to install, and warns when it replaces another. */
export async function sayImage(
  io: Pick<Io, "say">,
  { kube }: Consumer,
  { image, origin }: KonnectorPlan,
  signal: AbortSignal,
): Promise<void> {
  const before = imageOf(await installedKonnector(kube, signal));
  io.say(`Konnector image: ${image} (${origin})`);
  if (before !== undefined && before !== image) {
    io.say(`Warning: it replaces the konnector image ${before}`);
  }
}
