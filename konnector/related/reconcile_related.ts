import type { KubeObject } from "../../common/api/resources.ts";
import { done, type Outcome } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import type { CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { isForbidden, isServerFailure } from "../../common/kube/kube_error.ts";
import type { Log } from "../../common/log/log.ts";
import type { Links } from "../connections/links.ts";
import { isCredentialRefused, type ProviderLink } from "../connections/provider_link.ts";
import { allBindings, connectionFacts, type ConsumerCaches } from "../consumer_caches.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import { missingVerbs } from "../rights.ts";
import { reasonOf } from "../sync/refusals.ts";
import type { Allowed } from "./never_copied.ts";
import type { Related, RelatedState } from "./related.ts";
import type { Side } from "./related_context.ts";
import type { Viewer } from "./related_records.ts";
import { RelatedSync } from "./related_sync.ts";
import { RELATED_KINDS, type RelatedKind, type RuleSet, rulesOf } from "./rules_of.ts";

/** What the reconcile of related objects works with. */
export interface RelatedDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly related: Related;
  readonly allowed: Allowed;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly reportsOf: (what: string) => CacheReports;
}

const READ = ["get", "list", "watch"];
const WRITE = ["list", "watch", "create", "patch", "delete"];

/** Starts, replaces or ends the syncs of related objects as the bindings of a Connection want. */
export async function reconcileRelated(
  deps: RelatedDeps,
  connection: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { links, related, caches } = deps;
  const link = links.get(connection);
  const facts = connectionFacts(caches);
  if (!link || facts.isPaused(connection)) {
    related.stop(connection);
    return done;
  }
  try {
    for (const kind of RELATED_KINDS) {
      const ruleSet = rulesOf(connection, allBindings(caches), kind);
      await reconcileKind(deps, link, kind, ruleSet, signal);
    }
  } catch (error) {
    if (isCredentialRefused(error)) link.reject(error);
    else if (!isServerFailure(error) || link.awayMs() === undefined) throw error;
  }
  return done;
}

/** What reading the state of a kind needs. */
export type RelatedStateDeps = Pick<RelatedDeps, "related" | "links" | "caches">;

/** Returns the state of a kind; undefined until its sync follows the present rules. */
export function stateOf(
  { related, links, caches }: RelatedStateDeps,
  connection: string,
  kind: RelatedKind,
): RelatedState | undefined {
  const link = links.get(connection);
  const state = related.get(connection, kind);
  if (!link || !state) return undefined;
  const ruleSet = rulesOf(connection, allBindings(caches), kind);
  return isFor(state, link, ruleSet) ? state : undefined;
}

/** Returns whether a state belongs to these rules. Without rules, an empty state stays valid. */
const isFor = (state: RelatedState, link: ProviderLink, ruleSet: RuleSet): boolean =>
  state.identity === identityOf(link, ruleSet) ||
  state.isEmpty === true && ruleSet.rules.length === 0;

const identityOf = ({ fingerprint }: ProviderLink, ruleSet: RuleSet): string =>
  JSON.stringify([fingerprint, ruleSet]);

async function reconcileKind(
  deps: RelatedDeps,
  link: ProviderLink,
  kind: RelatedKind,
  ruleSet: RuleSet,
  signal: AbortSignal,
): Promise<void> {
  const { related } = deps;
  const hasRules = ruleSet.rules.length > 0;
  const identity = identityOf(link, ruleSet);
  const known = related.get(link.name, kind);
  const isCurrent = known !== undefined && isFor(known, link, ruleSet);
  if (isCurrent && !known.fault) return;
  if (link.awayMs() !== undefined) {
    // Old rules must not be followed any more. A link that works again wakes its Connection.
    if (known && !isCurrent) related.end(link.name, kind);
    return;
  }
  const rights = await rightsFor(deps, link, kind, hasRules, signal);
  if ("lacks" in rights) {
    // Without rules there may be copies of earlier rules, but nothing can be done about them.
    const state = hasRules ? { fault: { message: rights.lacks } } : { isEmpty: true };
    related.rest(link.name, kind, { identity, ...state });
    if (hasRules) related.lookLater(link.name, deniedRetryMs());
    return;
  }
  const sync = new RelatedSync({
    ...optionsFor(deps, link, kind, identity),
    ruleSet,
    reach: rights.namespace,
  });
  related.start(link.name, kind, identity, sync, link.signal);
}

type Rights = { readonly namespace: string | undefined } | { readonly lacks: string };

/** Asks both clusters whether the accounts may do what a kind needs, and where. */
async function rightsFor(
  { consumer }: RelatedDeps,
  { kube: provider, boundary }: ProviderLink,
  { resource, direction }: RelatedKind,
  hasRules: boolean,
  signal: AbortSignal,
): Promise<Rights> {
  const isDown = direction === "FromProvider";
  const target = hasRules ? WRITE : ["list"];
  const source = hasRules ? READ : [];
  const here = await missingVerbs(consumer, isDown ? target : source, { resource }, signal);
  if (here.length > 0) return { lacks: lacking("this cluster", here, resource, direction) };
  const needed = isDown ? source : target;
  const there = await missingVerbs(provider, needed, { resource }, signal);
  if (there.length === 0) return { namespace: undefined };
  const inBoundary = boundary
    ? await missingVerbs(provider, needed, { resource, namespace: boundary }, signal)
    : there;
  if (inBoundary.length === 0) return { namespace: boundary };
  return { lacks: lacking("the provider", inBoundary, resource, direction) };
}

const lacking = (
  where: string,
  verbs: readonly string[],
  resource: string,
  direction: string,
): string =>
  `Related ${resource} ${direction} are not copied: on ${where} the konnector's account may not ` +
  `${verbs.join(", ")} ${resource}`;

/** What does not depend on the rules. */
function optionsFor(deps: RelatedDeps, link: ProviderLink, kind: RelatedKind, identity: string) {
  const { consumer, caches, related, allowed, clusterUid, recordEvent, reportsOf, metrics } = deps;
  const { resource, direction } = kind;
  const isDown = direction === "FromProvider";
  const log = deps.log.with({ connection: link.name, resource, direction });
  const onDenied = (side: Side, error: unknown) => {
    const isProvider = (side === "source") === isDown;
    if (isCredentialRefused(error) && isProvider) return link.reject(error);
    if (related.get(link.name, kind)?.identity !== identity) return;
    log.warn("a cluster refuses a right", { reason: reasonOf(error) });
    const message = `Related ${resource} ${direction} are not copied: ${reasonOf(error)}`;
    related.rest(link.name, kind, { identity, fault: { message } });
    related.lookLater(link.name, deniedRetryMs());
  };
  return {
    kind,
    allowed,
    clusterUid,
    connection: link.name,
    source: isDown ? link.kube : consumer,
    target: isDown ? consumer : link.kube,
    relationTo: relationTo(caches, link.name),
    log,
    metrics,
    tell: (uid: string, reason: string, note: string) => {
      const binding = [...allBindings(caches)].find(({ metadata }) => metadata.uid === uid);
      if (binding) recordEvent(binding as KubeObject, "Warning", reason, note);
    },
    reports: (side: Side): CacheReports => {
      const reports = reportsOf(`related ${resource} ${direction} of ${link.name}, ${side}`);
      // A right to watch that is withdrawn shows when the watch is opened again.
      const disconnected = (error: unknown) => {
        reports.disconnected?.(error);
        if (isForbidden(error) || isCredentialRefused(error)) onDenied(side, error);
      };
      return { ...reports, disconnected };
    },
    onDenied,
    onProgress: () => related.progressed(link.name),
    onEmpty: () => related.rest(link.name, kind, { identity, isEmpty: true }),
  };
}

const relationTo = (caches: ConsumerCaches, own: string): Viewer["relationTo"] => (other) => {
  if (!caches.connections.get({ name: other })) return "gone";
  const { providerOf } = connectionFacts(caches);
  return providerOf(other) === providerOf(own) ? "sibling" : "stranger";
};
