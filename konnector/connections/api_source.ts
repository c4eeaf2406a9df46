import type { CustomResourceDefinition } from "../../common/api/resources.ts";

/** An API that the provider has. */
export interface ProviderApi {
  readonly name: string;
  /** Whether the provider offers it to this consumer. */
  readonly isExported: boolean;
  /** Changes when its definition does. */
  readonly version: string;
}

/** What a Connection shows about an exported API. */
export interface ApiDetails {
  readonly scope: "Cluster" | "Namespaced";
  /** The served versions. */
  readonly versions: string[];
}

/** Where the definitions of a provider's APIs come from. */
export interface ApiSource {
  readonly active: "CRD" | "OpenAPI";
  /** Whether the APIs are known. */
  readonly hasSynced: boolean;
  /** For how long the provider has been away; undefined if it is not. */
  awayMs(): number | undefined;
  /** Lists all APIs, exported or not. */
  list(): ProviderApi[];
  find(name: string): ProviderApi | undefined;
  /** Returns scope and versions of an API. Throws as `readCrd` does. */
  describe(name: string, signal: AbortSignal): Promise<ApiDetails | undefined>;
  /** Reads the definition of an API. Throws a `CrdRefusedError` if it cannot be used. */
  readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined>;
  /** Follows the provider until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Called by a source. */
export interface SourceReports {
  /** An API changed. */
  changed(api: string): void;
  /** The provider answers, for the first time or again. */
  works(): void;
  failed(error: unknown): void;
}
