import type { CustomResourceDefinition } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { childController } from "../../common/time/runnable.ts";
import type { ApiDetails, ApiSource, ProviderApi, SourceReports } from "./api_source.ts";
import { CrdSource } from "./crd_source.ts";
import { OpenApiSource } from "./openapi_source.ts";

/**
 * Follows the CRDs of a provider. If they are not served, or the credential may not list them, it
 * uses the OpenAPI documents, until a list of CRDs works.
 */
export class AutoSource implements ApiSource {
  readonly #kube: KubeClient;
  readonly #boundary: string;
  readonly #reports: SourceReports;
  #source: ApiSource;

  constructor(kube: KubeClient, boundary: string, reports: SourceReports) {
    this.#kube = kube;
    this.#boundary = boundary;
    this.#reports = reports;
    this.#source = new CrdSource(kube, reports);
  }

  get active(): "CRD" | "OpenAPI" {
    return this.#source.active;
  }

  get hasSynced(): boolean {
    return this.#source.hasSynced;
  }

  awayMs(): number | undefined {
    return this.#source.awayMs();
  }

  list(): ProviderApi[] {
    return this.#source.list();
  }

  find(name: string): ProviderApi | undefined {
    return this.#source.find(name);
  }

  async describe(name: string, signal: AbortSignal): Promise<ApiDetails | undefined> {
    return await this.#source.describe(name, signal);
  }

  async readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined> {
    return await this.#source.readCrd(name, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#follow(signal, (stop) => this.#crds(stop));
      await this.#follow(signal, (stop) => this.#openApi(stop));
    }
  }

  /** Follows a source until it calls `stop`. */
  async #follow(signal: AbortSignal, sourceFor: (stop: () => void) => ApiSource): Promise<void> {
    if (signal.aborted) return;
    using life = childController(signal);
    this.#source = sourceFor(() => life.abort(new Error("another source is used")));
    await this.#source.run(life.signal);
  }

  #crds(stop: () => void): ApiSource {
    const source: ApiSource = new CrdSource(this.#kube, {
      ...this.#reports,
      failed: (error) => {
        const isUnreadable = isForbidden(error) || isNotFound(error);
        if (isUnreadable && !source.hasSynced) stop();
        else this.#reports.failed(error);
      },
    });
    return source;
  }

  #openApi(stop: () => void): ApiSource {
    return new OpenApiSource(this.#kube, this.#boundary, this.#reports, stop);
  }
}
