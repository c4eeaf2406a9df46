import { CLUSTER_BINDINGS, CONNECTIONS, type KubeObject } from "../../common/api/resources.ts";
import { toYaml } from "../../common/yaml.ts";
import { FIELD_MANAGERS, grantName } from "../../common/api/names.ts";
import { connectGateway } from "../gateway/connect.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Io } from "../terminal/io.ts";
import { linesOf } from "../terminal/output.ts";
import type { WriteOptions } from "../options.ts";
import { CliError } from "../cli_error.ts";
import {
  applyObjects,
  type ConsumerWrites,
  DISCOVERY_WAIT_MS,
  whenAllServed,
} from "../../common/consumer/apply_objects.ts";
import { type Bundle, bundleObjects, consumerNamespace } from "../../common/consumer/bundle.ts";
import { bundleNamed } from "../consumer/check_bundle.ts";
import {
  boundNeeds,
  joined,
  konnectorObjects,
  type Needs,
  NO_NEEDS,
  rightsLine,
} from "../consumer/bound_rights.ts";
import { type Consumer, timeLimit, withConsumer, writesTo } from "../consumer/connect_consumer.ts";
import { type KonnectorPlan, planKonnector } from "../consumer/konnector_plan.ts";
import { followFirstSync } from "../consumer/follow_first_sync.ts";
import { obtainBundle } from "../consumer/obtain_bundle.ts";
import { notOffered, offerIn } from "../consumer/offer_in.ts";
import { refuseOtherProvider } from "../consumer/refuse_other_provider.ts";
import { expectedBundle, previewObjects, rehearseApply } from "../consumer/rehearse_apply.ts";
import { copyNotes, openingNotes } from "../consumer/related_notes.ts";
import { requireRights, rightsToApply } from "../consumer/rights.ts";
import { sayImage, sayTarget } from "./connect.ts";
import { untilReady } from "../consumer/until_ready.ts";

/** The flags of `kubectl bind export`. */
export interface ExportOptions extends WriteOptions {
  readonly installKonnector: boolean;
  readonly konnectorImage?: string | undefined;
  /** Prints the bundle instead of applying it. */
  readonly output?: "yaml" | undefined;
  readonly replaceProvider?: boolean | undefined;
  /** Whether the konnector may use bound APIs only; undefined leaves it as it is. */
  readonly boundGroups?: boolean | undefined;
}

const CORE_KINDS = [CONNECTIONS, CLUSTER_BINDINGS];

/** Binds an Export, and applies its bundle to the consumer cluster or prints it. */
export async function runExport(io: Io, exportName: string, options: ExportOptions): Promise<void> {
  refuseContradictions(options);
  const gateway = await connectGateway(io, options, "session");
  if (options.output === "yaml") return await printBundle(io, gateway, exportName, options);
  await withConsumer(io, options, async (consumer) => {
    using limit = timeLimit(options.timeoutMs, io.signal);
    const { signal } = limit;
    // Do everything that can fail before the bind, because a bind replaces an earlier pickup.
    const plan = options.installKonnector
      ? await planKonnector(gateway, options.konnectorImage, signal)
      : undefined;
    const writes = writesTo(io, consumer, signal);
    if (!plan) await whenAllServed(writes, CORE_KINDS, 0);
    const expected = await expectedGrant(gateway, exportName, signal);
    const bound = plan && await boundNeeds(consumer.kube, options.boundGroups, signal);
    const foundationFor = (needs: Needs = NO_NEEDS) =>
      plan ? konnectorObjects(plan, bound && joined(bound, needs)) : [consumerNamespace()];
    const foundation = foundationFor(expected?.needs);
    await requireRights(consumer, rightsToApply([...foundation, ...bundleNamed("")]), signal);
    sayTarget(io, consumer);
    if (plan) await sayImage(io, consumer, plan, signal);
    if (bound && expected) io.say(rightsLine(joined(bound, expected.needs)));
    if (expected) await rehearse(consumer, foundation, plan, expected, signal);
    if (options.dryRun) {
      if (!expected) throw notOffered(exportName);
      await previewObjects(io, consumer, [...foundation, ...bundleNamed(expected.grant)], signal);
      return io.say("Dry run: nothing was bound or changed");
    }
    const bundle = await obtainBundle(io, gateway, exportName, signal);
    if (!options.replaceProvider) await refuseOtherProvider(consumer, bundle, signal);
    const { relatedResources = [] } = bundle.binding.spec;
    for (const note of [...copyNotes(relatedResources), ...openingNotes(relatedResources)]) {
      io.say(`Note: ${note}`);
    }
    const needs = {
      apis: bundle.binding.spec.apis.map(({ name }) => name),
      related: relatedResources.map(({ resource }) => resource),
    };
    const stored = await applyAll(writes, foundationFor(needs), plan, bundle);
    if (options.wait) {
      await untilReady(io, consumer, stored, signal);
      await followFirstSync(io, consumer, gateway, bundle.binding, signal);
    }
    io.say(`Export "${exportName}" is bound as ${bundle.binding.metadata.name}`);
  });
}

function refuseContradictions(options: ExportOptions): void {
  const { output, wait, dryRun, konnectorImage, installKonnector } = options;
  const refuse = (flags: string, reason: string) => {
    throw new CliError("usage", `Cannot use ${flags}: ${reason}`, "Use only one of them");
  };
  if (output && (wait || dryRun)) {
    refuse("--output together with --wait or --dry-run", "it applies nothing");
  }
  if (konnectorImage !== undefined && !installKonnector) {
    refuse(
      "--konnector-image together with --install-konnector=false",
      "no konnector is installed",
    );
  }
}

async function printBundle(
  io: Io,
  gateway: GatewayClient,
  exportName: string,
  { timeoutMs }: ExportOptions,
): Promise<void> {
  using limit = timeLimit(timeoutMs, io.signal);
  offerIn(await gateway.catalog(limit.signal), exportName);
  const bundle = await obtainBundle(io, gateway, exportName, limit.signal);
  io.say("The bundle holds credentials of the provider: keep it where only you can read it");
  const notes = openingNotes(bundle.binding.spec.relatedResources ?? []);
  for (const note of notes) io.say(`Note: ${note}`);
  io.out(linesOf(toYaml(bundleObjects(bundle))));
}

/** Returns the Connection and the ClusterBinding as they are stored. */
async function applyAll(
  writes: ConsumerWrites,
  foundation: readonly KubeObject[],
  plan: KonnectorPlan | undefined,
  bundle: Bundle,
): Promise<KubeObject[]> {
  const { installer, cli } = FIELD_MANAGERS;
  await applyObjects(writes, foundation, plan ? installer : cli);
  // Do not send credentials to a cluster that cannot use them.
  await whenAllServed(writes, CORE_KINDS, DISCOVERY_WAIT_MS);
  const [, ...conditioned] = await applyObjects(writes, bundleObjects(bundle), cli);
  return conditioned;
}

/** The result of a bind, as far as it is known before. */
interface Expected {
  readonly grant: string;
  readonly needs: Needs;
}

/** Predicts the Grant; undefined when the catalog does not list the Export. */
async function expectedGrant(
  gateway: GatewayClient,
  exportName: string,
  signal: AbortSignal,
): Promise<Expected | undefined> {
  const [{ subject }, catalog] = await Promise.all([gateway.me(signal), gateway.catalog(signal)]);
  const offer = offerIn(catalog, exportName);
  if (!offer) return undefined;
  const related = (offer.relatedResources ?? []).map(({ resource }) => resource);
  const needs = { apis: offer.apis, related };
  return { grant: grantName(exportName, subject), needs };
}

async function rehearse(
  consumer: Consumer,
  foundation: readonly KubeObject[],
  plan: KonnectorPlan | undefined,
  { grant, needs: { apis } }: Expected,
  signal: AbortSignal,
): Promise<void> {
  const { installer, cli } = FIELD_MANAGERS;
  await rehearseApply(consumer, foundation, plan ? installer : cli, signal);
  const bundle = await expectedBundle(consumer, grant, apis, signal);
  await rehearseApply(consumer, bundleObjects(bundle), cli, signal);
}
