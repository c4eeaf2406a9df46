import { type Grant, SECRETS } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { follow, type FollowSource } from "../../common/kube/follow.ts";
import { type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { boundaryName, LABELS } from "../../common/api/names.ts";
import type { Log } from "../../common/log/log.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { TOKEN_SECRET_TYPE } from "./grant_objects.ts";

/** What telling of foreign Secrets needs. */
export interface TellDeps {
  readonly grants: Pick<Cache<Grant, "boundary">, "find">;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

const MOST_NAMESPACES = 1_000;

/**
 * Collects Secrets that carry our label and were not made by the issuer. A tenant may write such
 * Secrets into its boundary. The issuer ignores them, never deletes them, and tells of them once
 * for each namespace.
 */
export class ForeignSecrets {
  /** The first Secret that was seen in a namespace, until it is told. */
  readonly #seen = new Map<string, string>();
  readonly #told = new Set<string>();
  #deps: TellDeps | undefined;

  /** Notes a Secret. */
  see({ metadata: { name, namespace = "" } }: MetadataObject): void {
    if (this.#told.has(namespace) || this.#seen.size >= MOST_NAMESPACES) return;
    if (!this.#seen.has(namespace)) this.#seen.set(namespace, name);
    this.#tell();
  }

  /** Reports the Secrets seen so far, and from now on each new one. */
  tellTo(deps: TellDeps): void {
    this.#deps = deps;
    this.#tell();
  }

  #tell(): void {
    if (!this.#deps) return;
    const { grants, recordEvent, log } = this.#deps;
    for (const [namespace, name] of this.#seen) {
      this.#seen.delete(namespace);
      if (this.#told.size >= MOST_NAMESPACES) this.#told.clear();
      this.#told.add(namespace);
      log.warn("a Secret carries our label and is ignored", { secret: `${namespace}/${name}` });
      const [owner] = grants.find("boundary", namespace);
      if (!owner) continue;
      const note = `Secret "${namespace}/${name}", and perhaps more there, carries the label ` +
        `${LABELS.grant} and was not made by xbind: it is ignored, and stays when the Grant goes`;
      recordEvent(owner, "Warning", "ForeignSecret", note);
    }
  }
}

/** Watches foreign Secrets of all types but that of tokens, which a cache watches already. */
export const watchForeignSecrets =
  (kube: KubeClient, foreign: Pick<ForeignSecrets, "see">): Runnable => async (signal) => {
    const source: FollowSource<MetadataObject> = {
      type: SECRETS,
      selection: { labelSelector: LABELS.grant, fieldSelector: `type!=${TOKEN_SECRET_TYPE}` },
      metadataOnly: true,
      decode: (item) => void foreign.see(reduceMetadata(item)),
    };
    const nothing = () => {};
    await follow(kube, source, {
      begin: nothing,
      end: nothing,
      upsert: () => true,
      remove: nothing,
      connected: nothing,
      disconnected: nothing, // the watch of the token Secrets tells of an outage
      unreadable: nothing,
    }, signal);
  };

/** Returns whether a Secret is in the namespace of the Grant's own token Secret. */
export const isInBoundaryOf = (grant: Grant, { metadata }: MetadataObject): boolean =>
  metadata.namespace === boundaryName(grant.spec.identity.subject);
