import { isDnsLabel, LABELS, parseApiName } from "../../common/api/names.ts";
import { CRDS, type CustomResourceDefinition, isDeleting } from "../../common/api/resources.ts";
import { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { type FollowSource, metadataObjects } from "../../common/kube/follow.ts";
import { isTooLarge } from "../../common/kube/kube_error.ts";
import { type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { checkedCrd, CrdRefusedError } from "../schema/consumer_crd.ts";
import type { ApiDetails, ApiSource, ProviderApi, SourceReports } from "./api_source.ts";

/** The status of a Connection lists at most this many. */
const MOST_VERSIONS = 100;

/** A provider has hundreds at most. Further ones only take our memory. */
const MOST_CRDS = 10_000;

/** Follows the CRDs of a provider. Those with the export label are offered. */
export class CrdSource implements ApiSource {
  readonly active = "CRD";
  readonly #kube: KubeClient;
  readonly #crds: Cache<MetadataObject>;
  readonly #details = new Map<string, { readonly version: string; readonly details: ApiDetails }>();

  constructor(kube: KubeClient, reports: SourceReports) {
    this.#kube = kube;
    let works = false;
    this.#crds = new Cache(crdsOfApis, {
      most: { objects: MOST_CRDS, further: "refused" },
      reports: {
        // The watch is also opened again after its timeout, every few minutes. That is no news.
        connected: () => {
          if (!works) reports.works();
          works = true;
        },
        disconnected: (error) => {
          works = false;
          reports.failed(error);
        },
      },
    });
    this.#crds.onChange(({ before, after }) => {
      const { metadata } = (after ?? before) as MetadataObject;
      if (!after) this.#details.delete(metadata.name);
      reports.changed(metadata.name);
    });
  }

  get hasSynced(): boolean {
    return this.#crds.hasSynced;
  }

  awayMs(): number | undefined {
    return this.#crds.brokenForMs();
  }

  list(): ProviderApi[] {
    return [...this.#crds.values()].filter((crd) => !isDeleting(crd)).map(apiOf);
  }

  find(name: string): ProviderApi | undefined {
    const crd = this.#crds.get({ name });
    return crd && !isDeleting(crd) ? apiOf(crd) : undefined;
  }

  /** Reads the CRD again if it changed. */
  async describe(name: string, signal: AbortSignal): Promise<ApiDetails | undefined> {
    const { version = "" } = this.find(name) ?? {};
    const known = this.#details.get(name);
    if (known?.version === version) return known.details;
    const crd = await this.readCrd(name, signal);
    if (!crd) return undefined;
    const details = {
      scope: crd.spec.scope as ApiDetails["scope"],
      versions: crd.spec.versions.filter((each) => each.served && isDnsLabel(each.name))
        .map((each) => each.name).slice(0, MOST_VERSIONS),
    };
    this.#details.set(name, { version, details });
    return details;
  }

  async readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined> {
    try {
      const found = await this.#kube.find(CRDS, { name }, signal);
      return found === undefined ? undefined : checkedCrd(name, found);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      throw new CrdRefusedError("it is larger than any CRD may be");
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#crds.run(this.#kube, signal);
  }
}

/** The metadata of CRDs with valid names. */
const crdsOfApis: FollowSource<MetadataObject> = {
  ...metadataObjects(CRDS),
  decode: (item) => {
    const crd = reduceMetadata(item);
    const { name } = crd.metadata as { name: unknown };
    return typeof name === "string" && parseApiName(name) ? crd : undefined;
  },
};

const apiOf = ({ metadata: { name, labels, uid, generation } }: MetadataObject): ProviderApi => ({
  name,
  isExported: labels?.[LABELS.exported] === "true",
  version: `${uid} ${generation}`,
});
