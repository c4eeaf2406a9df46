import type { Collection, Export, Grant } from "../../common/api/resources.ts";
import type { CatalogRights } from "../authorization/catalog_rights.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import type { Log } from "../../common/log/log.ts";
import type { ApiCaches } from "./api_caches.ts";
import { textOfOrigin } from "./attribution.ts";
import {
  ageSeconds,
  type AwaitableCache,
  type ViewAge,
  viewAge,
  whenAvailable,
} from "./availability.ts";
import { catalogOf } from "./catalog.ts";
import { catalogFor, type CatalogParts, catalogParts } from "./catalog_view.ts";
import type { Heartbeat, HeartbeatIndex } from "../provider/heartbeats.ts";
import { lookUp, present, versions } from "./found_objects.ts";
import { apiNamesOf, instancesOf, relatedRulesOf } from "./instances.ts";
import { KeptViews } from "./kept_views.ts";
import { type LeaveOut, logLeftOut } from "./leave_out.ts";
import { Memo } from "./memo.ts";
import { type Scope, scopes } from "./scope.ts";
import { type Answer, Snapshot } from "./snapshot.ts";

type View<T extends MetadataObject> = Pick<
  Cache<T>,
  "get" | "values" | "onChange" | "hasSynced" | "whenSynced" | "brokenForMs"
>;

/** What `Inventory` works with. */
export interface InventoryDeps {
  readonly caches: {
    readonly exports: View<Export>;
    readonly collections: View<Collection>;
    readonly grants: View<Grant> & Pick<Cache<Grant, "boundary">, "find">;
    readonly heartbeats:
      & View<Heartbeat>
      & Pick<Cache<Heartbeat, HeartbeatIndex>, "find" | "crowded">;
  };
  /** The outage of live calls, which fail before a watch notices. */
  readonly outage: AwaitableCache;
  readonly apis: Pick<ApiCaches, "managedObjects" | "managedCopies" | "providerObjects">;
  readonly log: Log;
}

/** An answer, with its age during an outage. */
export interface InventoryAnswer extends Answer {
  readonly ageSeconds?: number;
}

/** Looks up what the caller may do with the Exports of these names. */
export type RightsFor = (exportNames: () => readonly string[]) => Promise<CatalogRights>;

/**
 * Answers the requests for catalog, clusters and instances from caches, without any API call. It
 * keeps each answer encoded until something in it changes.
 */
export class Inventory {
  readonly #deps: InventoryDeps;
  readonly #leaveOut: LeaveOut;
  readonly #changes: Readonly<Record<keyof InventoryDeps["caches"], () => number>>;
  readonly #scopeOf: (owner?: string) => Scope;
  readonly #catalogParts = new Memo<CatalogParts>();
  readonly #catalog = new Snapshot();
  /** By what callers may see and bind. */
  readonly #ownCatalogs = new KeptViews();
  /** By Export and scope. */
  readonly #instances = new KeptViews();

  constructor(deps: InventoryDeps) {
    const { exports, collections, grants, heartbeats } = deps.caches;
    this.#deps = deps;
    this.#leaveOut = logLeftOut(deps.log);
    this.#changes = {
      exports: countChanges(exports),
      collections: countChanges(collections),
      grants: countChanges(grants),
      heartbeats: countChanges(heartbeats),
    };
    const [changes, leaveOut] = [this.#changes, this.#leaveOut];
    this.#scopeOf = scopes({ grants, heartbeats, changes, leaveOut });
  }

  /** Answers `GET /api/catalog`: all of it, or what the rights allow. */
  async catalog(signal?: AbortSignal, rightsFor?: RightsFor): Promise<InventoryAnswer> {
    const { caches: { exports, collections }, outage } = this.#deps;
    const age = await whenAvailable("list the catalog", [exports, collections, outage], signal);
    const version = [this.#changes.exports(), this.#changes.collections()];
    const parts = this.#catalogParts.get(version, () => ({
      value: catalogParts(catalogOf(exports.values(), collections.values(), this.#leaveOut)),
    }));
    if (!rightsFor) {
      return withAge(this.#catalog.get([parts], () => ({ value: parts.whole })), age);
    }
    const rights = await rightsFor(() => parts.names);
    const view = this.#ownCatalogs.of(rights.key);
    return withAge(view.get([parts], () => ({ value: catalogFor(parts, rights) })), age);
  }

  /** Answers `GET /api/clusters`: all of them, or those of one subject. */
  async clusters(signal?: AbortSignal, owner?: string): Promise<InventoryAnswer> {
    const { caches: { grants, heartbeats }, outage, apis } = this.#deps;
    await whenAvailable("list the clusters", [grants, heartbeats, outage], signal);
    const scope = this.#scopeOf(owner);
    const { boundary } = scope;
    const names = scope.apiNames();
    const objects = await lookUp(names, (api) => apis.managedObjects(api, signal));
    // The names are part of the version: an API that a new Grant added is looked up the next time.
    const [grantChanges, beats] = [this.#changes.grants(), this.#changes.heartbeats()];
    const version = [...names, grantChanges, beats, ...versions(objects)];
    const answer = scope.clusters().get(version, (nowMs) => {
      const { json, ...rest } = scope.clusterList.view({
        grants: scope.grants(),
        heartbeats,
        syncedCounts: (api, uid, grant) => objects.get(api)?.countOf(uid, grant, boundary),
        crowded: heartbeats.crowded.filter(({ namespace }) =>
          boundary === undefined || namespace === boundary
        ),
        nowMs,
        leaveOut: this.#leaveOut,
      });
      return { value: json, ...rest };
    });
    return withAge(answer, viewAge([grants, heartbeats, outage, ...present(objects)]));
  }

  /**
   * Answers `GET /api/catalog/{export}/instances` for an existing Export, Ready or not: all
   * objects, or those of one subject.
   */
  async instances(offer: Export, signal?: AbortSignal, owner?: string): Promise<InventoryAnswer> {
    const { caches: { grants, heartbeats }, outage, apis } = this.#deps;
    await whenAvailable("list the instances", [grants, heartbeats, outage], signal);
    const rules = relatedRulesOf(offer, this.#leaveOut);
    const fromProvider = rules.filter(({ direction }) => direction === "FromProvider");
    const fromConsumer = new Set(
      rules.filter(({ direction }) => direction === "FromConsumer").map((rule) => rule.resource),
    );
    const [objects, copies, originals] = await Promise.all([
      lookUp(apiNamesOf(offer), (api) => apis.managedObjects(api, signal)),
      lookUp(fromConsumer, (resource) => apis.managedCopies(resource, signal)),
      lookUp(fromProvider, (rule) => apis.providerObjects(rule, signal)),
    ]);
    const origins = this.#scopeOf(owner).origins();
    const { identities, clusterNames, exportByGrant, isVisible } = origins;
    const { name, uid, resourceVersion } = offer.metadata;
    const problems = origins.problems.get(name) ?? "[]";
    const moreProblems = origins.moreProblems.get(name) ?? 0;
    const version = [
      uid,
      resourceVersion,
      ...origins.version,
      problems,
      moreProblems,
      ...[objects, copies, originals].flatMap(versions),
    ];
    const snapshot = this.#instances.of(JSON.stringify([name, owner]));
    const answer = snapshot.get(version, () => ({
      value: JSON.stringify(instancesOf(offer, {
        managedObjects: (api) => objects.get(api)?.values(),
        managedCopies: (resource) => copies.get(resource)?.values(),
        providerObjects: (rule) => originals.get(rule)?.values(),
        identityOf: (consumerUid, grant) => textOfOrigin(identities, consumerUid, grant),
        clusterNameOf: (consumerUid, grant) => textOfOrigin(clusterNames, consumerUid, grant),
        problems: JSON.parse(problems),
        moreProblems,
        exportOf: (grant) => exportByGrant.get(grant),
        isVisible,
        leaveOut: this.#leaveOut,
      })),
    }));
    const all = [objects, copies, originals].flatMap(present);
    return withAge(answer, viewAge([grants, heartbeats, outage, ...all]));
  }
}

const withAge = (answer: Answer, age: ViewAge): InventoryAnswer => {
  const seconds = ageSeconds(age);
  return seconds === undefined ? answer : { ...answer, ageSeconds: seconds };
};

function countChanges(cache: { onChange(listener: () => void): () => void }): () => number {
  let changes = 0;
  cache.onChange(() => changes++);
  return () => changes;
}
