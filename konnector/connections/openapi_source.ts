import { parseApiName } from "../../common/api/names.ts";
import { CRDS, type CustomResourceDefinition } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { sleep } from "../../common/time/wait.ts";
import { crdFromOpenApi, type DiscoveredVersion } from "../schema/crd_from_openapi.ts";
import type { Schemas } from "../schema/structural_schema.ts";
import type { ApiDetails, ApiSource, ProviderApi, SourceReports } from "./api_source.ts";
import { ownRights } from "./own_rights.ts";
import {
  apisOf,
  type GroupVersion,
  groupVersionOf,
  type PublishedApi,
  type RawResource,
  type Resources,
  resourcesOf,
} from "./published_apis.ts";

const POLL_MS = 30_000;
const BACKOFF = { baseMs: 500, capMs: 30_000 };
/** A provider with more is read in part. */
const MOST_GROUP_VERSIONS = 200;

/**
 * Asks a provider every 30 s which APIs it publishes, for providers whose CRDs cannot be read.
 * Those that the credential may list are offered. A definition is put together from discovery and
 * the OpenAPI documents.
 */
export class OpenApiSource implements ApiSource {
  readonly active = "OpenAPI";
  readonly #kube: KubeClient;
  readonly #boundary: string;
  readonly #reports: SourceReports;
  readonly #crdsReadable: (() => void) | undefined;
  #groupVersions = new Map<string, Resources>();
  #apis: ReadonlyMap<string, PublishedApi> = new Map();
  #hasSynced = false;
  #awaySince: number | undefined;

  /** Calls `crdsReadable` when a later check finds that CRDs can be listed. */
  constructor(
    kube: KubeClient,
    boundary: string,
    reports: SourceReports,
    crdsReadable?: () => void,
  ) {
    this.#kube = kube;
    this.#boundary = boundary;
    this.#reports = reports;
    this.#crdsReadable = crdsReadable;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  awayMs(): number | undefined {
    return this.#awaySince === undefined ? undefined : performance.now() - this.#awaySince;
  }

  list(): ProviderApi[] {
    return [...this.#apis.values()];
  }

  find(name: string): ProviderApi | undefined {
    return this.#apis.get(name);
  }

  describe(name: string): Promise<ApiDetails | undefined> {
    const versions = this.#apis.get(name)?.versions ?? [];
    const [first] = versions;
    return Promise.resolve(
      first && {
        scope: first.resource.namespaced ? "Namespaced" : "Cluster",
        versions: versions.map((each) => each.name),
      },
    );
  }

  async readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined> {
    const api = this.#apis.get(name);
    const parsed = parseApiName(name);
    if (!api || !parsed) return undefined;
    const versions: DiscoveredVersion[] = [];
    for (const version of api.versions) {
      const path = `/openapi/v3/apis/${parsed.group}/${version.name}`;
      const document = await this.#read<{ components?: { schemas?: Schemas } }>(path, signal);
      if (document) versions.push({ ...version, schemas: document.components?.schemas ?? {} });
    }
    return crdFromOpenApi(parsed, versions);
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(BACKOFF);
    while (!signal.aborted) {
      let waitMs = POLL_MS;
      try {
        await this.#look(signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        this.#awaySince ??= performance.now();
        this.#reports.failed(error);
        waitMs = backoff.next();
      }
      await sleep(waitMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const rights = await ownRights(this.#kube, this.#boundary, signal);
    const root = await this.#kube.request<
      { paths?: Record<string, { serverRelativeURL?: string }> }
    >(
      "GET",
      "/openapi/v3",
      undefined,
      signal,
    );
    const served = Object.entries(root.paths ?? {});
    const hasCrds = served.some(([path]) => path === `apis/${CRDS.group}/${CRDS.version}`);
    // Not at the first check, which comes right after a failed list of CRDs.
    if (this.#crdsReadable && this.#hasSynced && hasCrds && rights.mayList(CRDS)) {
      if (await this.#listsCrds(signal)) return this.#crdsReadable();
    }
    const offered = served.flatMap(([path, { serverRelativeURL = "" }]) =>
      groupVersionOf(path, serverRelativeURL) ?? []
    ).filter(({ group }) => rights.mayListIn(group)).slice(0, MOST_GROUP_VERSIONS);
    const known = new Map<string, Resources>();
    for (const each of offered) {
      const key = `${each.group}/${each.version}`;
      const before = this.#groupVersions.get(key);
      const isSettled = before?.hash === each.hash;
      const isKnown = isSettled && before.isSettled;
      known.set(key, isKnown ? before : await this.#discover(each, isSettled, signal));
    }
    this.#groupVersions = known;
    this.#replace(apisOf(known.values(), rights));
  }

  /**
   * Tries to list a CRD. If a provider allows that in a review and then refuses it, a change to
   * CRDs would stop the sync each time.
   */
  async #listsCrds(signal: AbortSignal): Promise<boolean> {
    try {
      const path = `/apis/${CRDS.group}/${CRDS.version}/${CRDS.plural}?limit=1`;
      await this.#kube.request("GET", path, undefined, signal);
      return true;
    } catch (error) {
      if (error instanceof KubeError) return false;
      throw error;
    }
  }

  async #discover(
    groupVersion: GroupVersion,
    isSettled: boolean,
    signal: AbortSignal,
  ): Promise<Resources> {
    const path = `/apis/${groupVersion.group}/${groupVersion.version}`;
    const list = await this.#read<{ resources?: RawResource[] }>(path, signal);
    return { ...groupVersion, isSettled, resources: resourcesOf(list?.resources ?? []) };
  }

  /** Returns undefined for a version that was removed after it was listed. */
  async #read<T>(path: string, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await this.#kube.request<T>("GET", path, undefined, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #replace(apis: ReadonlyMap<string, PublishedApi>): void {
    const before = this.#apis;
    const isNews = !this.#hasSynced || this.#awaySince !== undefined;
    this.#apis = apis;
    this.#hasSynced = true;
    this.#awaySince = undefined;
    if (isNews) this.#reports.works();
    const changed = (name: string) =>
      before.get(name)?.version !== apis.get(name)?.version ||
      before.get(name)?.isExported !== apis.get(name)?.isExported;
    for (const name of new Set([...before.keys(), ...apis.keys()])) {
      if (changed(name)) this.#reports.changed(name);
    }
  }
}
