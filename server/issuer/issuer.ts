import { type Grant, isDeleting } from "../../common/api/resources.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Config } from "../config.ts";
import type { Change } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { isServerFailure } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { controller, type Reconcile } from "../../common/control/controller.ts";
import { every } from "../../common/time/every.ts";
import type { Log } from "../../common/log/log.ts";
import type { Metrics } from "../../common/control/metrics.ts";
import { Queue } from "../../common/control/queue.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import { ForeignSecrets, isInBoundaryOf, watchForeignSecrets } from "./foreign_secrets.ts";
import { isFilled, type IssuerCaches } from "./issued_caches.ts";
import { offersSameRelated } from "./offered_related.ts";
import { reconcileExport } from "./reconcile_export.ts";
import { reconcileGrant } from "./reconcile_grant.ts";
import { isUrgent } from "./token.ts";
import { TokenTurns } from "./token_turns.ts";

/** What the issuer needs. */
export interface IssuerDeps {
  /** Refuses to write while this process does not lead. */
  readonly kube: KubeClient;
  readonly caches: IssuerCaches;
  readonly config: Pick<Config, "issuerScope" | "authorizationRevoke">;
  /** Present with `--authorization=Kubernetes`. */
  readonly authorizer?: Authorizer | undefined;
  readonly recordEvent: RecordEvent;
  /** Collects the Secrets of tenants that the caches see. */
  readonly foreignSecrets?: ForeignSecrets;
  readonly metrics: Pick<Metrics, "controller">;
  readonly log: Log;
  readonly now: () => number;
  /** For tests; otherwise ten minutes. */
  readonly resyncMs?: number;
}

const GRANT_WORKERS = 20;
const EXPORT_WORKERS = 4;
const RESYNC_MS = 600_000;

/** Keeps Grants provisioned and Exports judged while it runs. It can run again later. */
export function issuer(deps: IssuerDeps): Runnable {
  const { kube, caches, metrics, log, recordEvent, resyncMs = RESYNC_MS } = deps;
  const { foreignSecrets = new ForeignSecrets() } = deps;
  const grants = new Queue();
  const exports = new Queue();
  const tokens = new TokenTurns({
    caches,
    now: deps.now,
    // A half-done Grant goes before new ones, so that Kubernetes always has a Secret to fill.
    wake: (grant) => grants.add(grant, { urgent: true }),
  });
  const revoking = new Map<string, number>();
  feedQueues(deps, grants, exports, (grant) => revoking.has(grant));
  const work = all(
    tokens.run,
    controller({
      name: "grant",
      queue: grants,
      workers: GRANT_WORKERS,
      reconcile: whileConnected(
        caches,
        reconcileGrant({ ...deps, tokens, revoking }),
      ),
      isPassing: isServerFailure,
      log,
      metrics,
    }),
    controller({
      name: "export",
      queue: exports,
      workers: EXPORT_WORKERS,
      reconcile: whileConnected(caches, reconcileExport(deps)),
      isPassing: isServerFailure,
      log,
      metrics,
    }),
    watchForeignSecrets(kube, foreignSecrets),
    every(resyncMs, () => {
      for (const { metadata } of caches.grants.values()) grants.add(metadata.name);
      for (const { metadata } of caches.exports.values()) exports.add(metadata.name);
      return Promise.resolve();
    }, (error) => log.error("cannot look at everything again", { error })),
  );
  return async (signal) => {
    await Promise.all(Object.values(caches).map((cache) => cache.whenSynced(signal)));
    foreignSecrets.tellTo({ grants: caches.grants, recordEvent, log });
    log.info("issuing", { grants: caches.grants.size, exports: caches.exports.size });
    await work(signal);
  };
}

/**
 * Starts no reconcile while the API server is away. Each would fail, and its back-off would last
 * longer than the outage.
 */
const whileConnected =
  ({ grants }: Pick<IssuerCaches, "grants">, reconcile: Reconcile): Reconcile =>
  async (key, signal) => {
    await grants.whenConnected(signal);
    return await reconcile(key, signal);
  };

/** Queues the Grants and Exports that a change may concern, unless the issuer made the change. */
function feedQueues(
  { caches, now }: Pick<IssuerDeps, "caches" | "now">,
  grants: Queue,
  exports: Queue,
  isRevoking: (grant: string) => boolean,
): void {
  /** Puts a Grant that a bind waits for before the others. */
  const addGrant = (name: string, grant = caches.grants.get({ name }), isHalfDone = false) =>
    grants.add(name, { urgent: isHalfDone || grant !== undefined && isUrgent(grant, now()) });
  /** A revocation reads live, so a change matters to it only while an object does not go away. */
  const isConcerned = (grant: Grant) => !isDeleting(grant) || isRevoking(grant.metadata.name);
  const addConcerned = (changed: Iterable<Grant>) => {
    for (const grant of changed) {
      if (isConcerned(grant)) addGrant(grant.metadata.name, grant);
    }
  };
  caches.grants.onChange((change) => {
    const grant = change.after ?? change.before;
    if (grant && !isOwn(change)) addGrant(grant.metadata.name, grant);
  });
  caches.exports.onChange((change) => {
    const { before, after } = change;
    if (after && !isOwn(change)) exports.add(after.metadata.name);
    if (offersSameRelated(before, after)) return;
    addConcerned(caches.grants.find("export", (after ?? before)?.metadata.name ?? ""));
  });
  const ofGrant = (change: Change<MetadataObject>, isHalfDone = false) => {
    if (isOwn(change)) return;
    for (const object of [change.before, change.after]) {
      const name = object?.metadata.labels?.[LABELS.grant];
      if (!name) continue;
      const grant = caches.grants.get({ name });
      if (grant && !isConcerned(grant)) continue;
      addGrant(name, grant, isHalfDone); // without a Grant this is a leftover
    }
  };
  const { accounts, roles, roleBindings, clusterRoles, clusterRoleBindings } = caches;
  for (const cache of [accounts, roles, roleBindings, clusterRoles, clusterRoleBindings]) {
    cache.onChange((change) => ofGrant(change));
  }
  caches.secrets.onChange((change) => {
    const secret = change.after ?? change.before;
    const grant = caches.grants.get({ name: secret?.metadata.labels?.[LABELS.grant] ?? "" });
    // Tenants may write Secrets of any name and label, so only the one in the Grant's place counts.
    if (!secret || !grant || !isInBoundaryOf(grant, secret)) return;
    ofGrant(change, change.after && isFilled(change.after));
  });
  caches.boundaries.onChange((change) => {
    const name = (change.after ?? change.before)?.metadata.name;
    if (name && !isOwn(change)) addConcerned(caches.grants.find("boundary", name));
  });
  caches.crds.onChange(({ before, after }) => {
    if (
      before && after && exportLabel(before) === exportLabel(after) && isSameLife(before, after)
    ) {
      return;
    }
    const name = (after ?? before)?.metadata.name ?? "";
    addConcerned(caches.grants.find("api", name));
    for (const { metadata } of caches.exports.find("api", name)) exports.add(metadata.name);
  });
}

/**
 * Returns whether a change is only a write of ours. The answer to a write can also show an earlier
 * change by another writer, which the watch does not repeat.
 */
function isOwn({ before, after, writer }: Change<MetadataObject>): boolean {
  const { generation, deletionTimestamp } = before?.metadata ?? {};
  return (writer === FIELD_MANAGERS.issuer || writer === FIELD_MANAGERS.exports) &&
    after?.metadata.generation === generation &&
    after?.metadata.deletionTimestamp === deletionTimestamp;
}

const exportLabel = ({ metadata }: MetadataObject) => metadata.labels?.[LABELS.exported];

const isSameLife = (a: MetadataObject, b: MetadataObject): boolean =>
  a.metadata.deletionTimestamp === b.metadata.deletionTimestamp;
