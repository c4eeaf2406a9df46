import type { BeforeSend } from "../../common/kube/transport.ts";
import type { Log } from "../../common/log/log.ts";
import type { Credential } from "./credential.ts";
import { ProviderLink, type SourceName } from "./provider_link.ts";

/** What links are opened with. */
export interface LinksOptions {
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly beforeWrite: BeforeSend;
  readonly onAnswer: (host: string) => (method: string, status: number) => void;
  readonly log: Log;
  /** Returns what else the heartbeat of a Connection says about this cluster. */
  readonly describe: (connection: string) => Readonly<Record<string, string>>;
  /** Called when a link works again, or a CRD of its provider changed. */
  readonly onChange: (connection: string, crd?: string) => void;
  /** Called when a link fails. */
  readonly onFailure: (connection: string) => void;
  /** Called when a link may be used, and when it may no longer be. */
  readonly onUsable: (connection: string) => void;
  /** Called when a provider's clock and ours begin to differ, and with 0 when they agree again. */
  readonly onClock: (connection: string, aheadMs: number) => void;
}

/** The open links, by Connection. */
export class Links implements Disposable {
  readonly #options: LinksOptions;
  readonly #links = new Map<string, ProviderLink>();
  readonly #started = new Set<ProviderLink>();

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /** Returns the link of a Connection that may be used. */
  get(name: string): ProviderLink | undefined {
    const link = this.#links.get(name);
    return link && this.#started.has(link) ? link : undefined;
  }

  /** Iterates over the links that may be used. */
  [Symbol.iterator](): Iterator<ProviderLink> {
    return this.#started.values();
  }

  /** Returns the link for this kubeconfig and source, and opens it if there is none. */
  async open(
    name: string,
    credential: Credential,
    source: SourceName,
    signal: AbortSignal,
  ): Promise<ProviderLink> {
    const { target } = credential;
    const fingerprint = `${credential.fingerprint} ${source}`;
    const known = this.#links.get(name);
    if (known?.fingerprint === fingerprint) return known;
    const { clusterUid, beforeWrite, onAnswer, log, describe } = this.#options;
    const { onChange, onFailure, onClock } = this.#options;
    const link = await ProviderLink.open({
      name,
      target,
      fingerprint,
      source,
      clusterUid,
      beforeWrite,
      onAnswer: onAnswer(new URL(target.server).host),
      log,
      describe: () => describe(name),
      onChange: (crd) => onChange(name, crd),
      onFailure: () => onFailure(name),
      onClock: (aheadMs) => onClock(name, aheadMs),
    }, signal);
    this.close(name);
    this.#links.set(name, link);
    return link;
  }

  /** Follows the provider and sends heartbeats, once the provider is known to be the right one. */
  start(link: ProviderLink): void {
    if (this.#started.has(link)) return;
    this.#started.add(link);
    link.start(this.#options.log.named("link"));
    this.#options.onUsable(link.name);
  }

  /** Closes the link of a Connection. */
  close(name: string): void {
    const link = this.#links.get(name);
    if (!link) return;
    this.#links.delete(name);
    link[Symbol.dispose]();
    if (this.#started.delete(link)) this.#options.onUsable(name);
  }

  [Symbol.dispose](): void {
    for (const name of [...this.#links.keys()]) this.close(name);
  }
}
