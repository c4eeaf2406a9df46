import { CORE_GROUP } from "../common/api/groups.ts";
import { errorChain } from "../common/errors.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { type Right, rightText } from "../common/kube/rights.ts";
import type { Log } from "../common/log/log.ts";
import { every } from "../common/time/every.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { lackedRights } from "./rights.ts";

/** What checking the konnector's rights on this cluster needs. */
export interface ConsumerRightsOptions {
  readonly kube: KubeClient;
  readonly secretNamespaces: readonly string[];
  /** Whether all watches work, so that no check is needed. */
  readonly isWell: () => boolean;
  readonly log: Log;
}

const LOOK_MS = 30_000;
const READ = ["get", "list", "watch"];

/** Lists the rights that every konnector needs on its cluster, whatever is bound. */
function neededRights(secretNamespaces: readonly string[]): Right[] {
  const on = (group: string, resource: string, verbs: readonly string[], more = {}) =>
    verbs.map((verb): Right => ({ verb, group, resource, ...more }));
  const core = ["connections", "clusterbindings", "bindings"].flatMap((resource) => [
    ...on(CORE_GROUP, resource, [...READ, "patch"]),
    ...on(CORE_GROUP, resource, ["patch"], { subresource: "status" }),
  ]);
  const install = [...READ, "create", "patch", "delete"];
  return [
    ...core,
    ...on("apiextensions.k8s.io", "customresourcedefinitions", install),
    ...secretNamespaces.flatMap((namespace) =>
      on("", "secrets", [...READ, "patch"], { namespace })
    ),
    ...on("", "namespaces", ["get"]),
    ...on("events.k8s.io", "events", ["create"]),
  ];
}

/**
 * Knows which rights the konnector lacks on this cluster. Checks them at start, then every 30 s
 * while something fails.
 */
export class ConsumerRights {
  readonly #options: ConsumerRightsOptions;
  readonly #needed: readonly Right[];
  #missing: readonly string[] = [];

  constructor(options: ConsumerRightsOptions) {
    this.#options = options;
    this.#needed = neededRights(options.secretNamespaces);
  }

  /** Names the missing rights and the remedy; undefined if none is missing. */
  get fault(): string | undefined {
    if (this.#missing.length === 0) return undefined;
    return `the konnector may not ${this.#missing.join(", ")} on this cluster; ` +
      "give it the rights with: kubectl bind connect";
  }

  /** Checks the rights until the signal aborts. */
  get run(): Runnable {
    const { isWell, log } = this.#options;
    const look = (signal: AbortSignal) => this.#look(signal);
    const failed = (error: unknown) =>
      log.debug("cannot ask for rights", { error: errorChain(error) });
    const again = async (signal: AbortSignal) => {
      if (this.#missing.length > 0 || !isWell()) await look(signal);
    };
    return all((signal) => look(signal).catch(failed), every(LOOK_MS, again, failed));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { kube, log } = this.#options;
    const lacked = await lackedRights(kube, this.#needed, signal);
    const missing = lacked.map(rightText);
    if (missing.join() === this.#missing.join()) return;
    this.#missing = missing;
    if (missing.length > 0) log.warn("rights are missing on this cluster", { missing });
    else log.info("no right is missing any more");
  }
}
