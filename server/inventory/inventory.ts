import type { Collection, Export, Grant } from "../../common/api/resources.ts";
import { boundaryName } from "../../common/api/names.ts";
import type { CatalogRights } from "../authorization/catalog_rights.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import type { Log } from "../../common/log/log.ts";
import type { ApiCaches } from "./api_caches.ts";
import type { ApiObjects } from "./api_watch.ts";
import { attributionOf, exportsByGrant, textOfOrigin } from "./attribution.ts";
import {
  ageSeconds,
  type AwaitableCache,
  type ViewAge,
  viewAge,
  whenAvailable,
} from "./availability.ts";
import { catalogOf } from "./catalog.ts";
import { catalogFor, type CatalogParts, catalogParts } from "./catalog_view.ts";
import { type ClusterReports, clusterReports } from "./cluster_reports.ts";
import { ClusterList } from "./clusters.ts";
import type { Heartbeat, HeartbeatIndex } from "../provider/heartbeats.ts";
import { apiNamesOf, instancesOf, relatedRulesOf } from "./instances.ts";
import { KeptViews } from "./kept_views.ts";
import { type LeaveOut, logLeftOut } from "./leave_out.ts";
import { Memo, type Texts, TextsMemo } from "./memo.ts";
import { type OwnView, ownView } from "./own_view.ts";
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
  readonly #catalogParts = new Memo<CatalogParts>();
  readonly #catalog = new Snapshot();
  /** By what callers may see and bind. */
  readonly #ownCatalogs = new KeptViews();
  readonly #clusterList = new ClusterList();
  readonly #clusters = new Snapshot();
  readonly #ownClusterList = new ClusterList();
  /** By subject. */
  readonly #ownClusters = new KeptViews();
  /** By Export, and by subject if that sees only its own. */
  readonly #instances = new KeptViews();
  readonly #grantedApis = new Memo<readonly string[]>();
  readonly #attribution = new TextsMemo();
  readonly #exportByGrant = new TextsMemo();
  readonly #reports = new Memo<ClusterReports>();
  readonly #clusterNames = new TextsMemo();

  constructor(deps: InventoryDeps) {
    this.#deps = deps;
    this.#leaveOut = logLeftOut(deps.log);
    const { exports, collections, grants, heartbeats } = deps.caches;
    this.#changes = {
      exports: countChanges(exports),
      collections: countChanges(collections),
      grants: countChanges(grants),
      heartbeats: countChanges(heartbeats),
    };
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
    const { caches: { grants, heartbeats }, outage } = this.#deps;
    await whenAvailable("list the clusters", [grants, heartbeats, outage], signal);
    const names = owner === undefined
      ? this.#grantedApis.get([this.#changes.grants()], () => ({
        value: [...new Set([...grants.values()].flatMap(apiNamesOf))],
      }))
      : [...new Set(this.#grantsOf(owner).flatMap(apiNamesOf))];
    const objects = await this.#lookUp(
      names,
      (api) => this.#deps.apis.managedObjects(api, signal),
    );
    // The names are part of the version: an API that a new Grant added is looked up the next time.
    const version = [
      ...(owner === undefined ? [names] : names),
      this.#changes.grants(),
      this.#changes.heartbeats(),
      ...versions(objects),
    ];
    const snapshot = owner === undefined ? this.#clusters : this.#ownClusters.of(owner);
    const boundary = owner === undefined ? undefined : boundaryName(owner);
    const list = owner === undefined ? this.#clusterList : this.#ownClusterList;
    const answer = snapshot.get(version, (nowMs) => {
      const { json, ...rest } = list.view({
        grants: owner === undefined ? grants.values() : this.#grantsOf(owner),
        heartbeats,
        syncedCounts: (api, uid, grant) => objects.get(api)?.countOf(uid, grant, boundary),
        crowded: heartbeats.crowded.filter(({ namespace }) =>
          (boundary ?? namespace) === namespace
        ),
        nowMs,
        leaveOut: this.#leaveOut,
      });
      return { value: json, ...rest };
    });
    return withAge(answer, viewAge([grants, heartbeats, outage, ...present(objects)]));
  }

  /**
   * Answers `GET /api/catalog/{export}/instances` for an existing Export, Ready or not: all objects,
   * or those of one subject.
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
      this.#lookUp(apiNamesOf(offer), (api) => apis.managedObjects(api, signal)),
      this.#lookUp(fromConsumer, (resource) => apis.managedCopies(resource, signal)),
      this.#lookUp(fromProvider, (rule) => apis.providerObjects(rule, signal)),
    ]);
    const own = owner === undefined ? undefined : this.#ownView(owner);
    const { attribution, exportByGrant, clusterNames, reports } = own ?? this.#origins();
    const { name, uid, resourceVersion } = offer.metadata;
    const problemsText = reports.problems.get(name) ?? "[]";
    const moreProblems = reports.moreProblems.get(name) ?? 0;
    const origins = [attribution, exportByGrant, clusterNames, problemsText, moreProblems];
    const version = [
      uid,
      resourceVersion,
      ...(own ? [own.version] : origins),
      ...[objects, copies, originals].flatMap(versions),
    ];
    const snapshot = this.#instances.of(JSON.stringify([name, owner]));
    const answer = snapshot.get(version, () => ({
      value: JSON.stringify(instancesOf(offer, {
        managedObjects: (api) => objects.get(api)?.values(),
        managedCopies: (resource) => copies.get(resource)?.values(),
        providerObjects: (rule) => originals.get(rule)?.values(),
        identityOf: (consumerUid, grant) => textOfOrigin(attribution, consumerUid, grant),
        clusterNameOf: (consumerUid, grant) => textOfOrigin(clusterNames, consumerUid, grant),
        problems: JSON.parse(problemsText),
        moreProblems,
        exportOf: (grant) => exportByGrant.get(grant),
        ...(own ? { isVisible: own.isVisible } : {}),
        leaveOut: this.#leaveOut,
      })),
    }));
    const all = [objects, copies, originals].flatMap(present);
    return withAge(answer, viewAge([grants, heartbeats, outage, ...all]));
  }

  /** Returns what tells whose objects are. Heartbeats that tell nothing new change none of it. */
  #origins(): Record<"attribution" | "exportByGrant" | "clusterNames", Texts> & {
    readonly reports: ClusterReports;
  } {
    const { grants, heartbeats } = this.#deps.caches;
    const [grantChanges, beats] = [this.#changes.grants(), this.#changes.heartbeats()];
    const reports = this.#reports.get(
      [grantChanges, beats],
      () => ({ value: clusterReports(grants.values(), heartbeats, this.#leaveOut) }),
    );
    return {
      clusterNames: this.#clusterNames.get([reports], () => reports.clusterNames),
      reports,
      attribution: this.#attribution.get(
        [grantChanges, beats],
        () => attributionOf(grants.values(), heartbeats, this.#leaveOut),
      ),
      exportByGrant: this.#exportByGrant.get(
        [grantChanges],
        () => exportsByGrant(grants.values()),
      ),
    };
  }

  #ownView(owner: string): OwnView {
    return ownView(owner, this.#grantsOf(owner), this.#deps.caches.heartbeats, this.#leaveOut);
  }

  #grantsOf(owner: string): Grant[] {
    const { grants } = this.#deps.caches;
    return [...grants.find("boundary", boundaryName(owner))]
      .filter(({ spec }) => spec.identity.subject === owner);
  }

  async #lookUp<K>(
    keys: Iterable<K>,
    find: (key: K) => Promise<ApiObjects | undefined>,
  ): Promise<Map<K, ApiObjects | undefined>> {
    const found = [...keys].map(async (key) => [key, await find(key)] as const);
    return new Map(await Promise.all(found));
  }
}

type Found = ReadonlyMap<unknown, ApiObjects | undefined>;

const versions = (found: Found): unknown[] => [...found.values()].map((each) => each?.version);

const present = (found: Found): ApiObjects[] =>
  [...found.values()].filter((each) => each !== undefined);

const withAge = (answer: Answer, age: ViewAge): InventoryAnswer => {
  const seconds = ageSeconds(age);
  return seconds === undefined ? answer : { ...answer, ageSeconds: seconds };
};

function countChanges(cache: { onChange(listener: () => void): () => void }): () => number {
  let changes = 0;
  cache.onChange(() => changes++);
  return () => changes;
}
