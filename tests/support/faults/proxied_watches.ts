import type http from "node:http";
import type { Exchange } from "../peers/http_relay.ts";

interface OpenWatch extends Exchange {
  isSilent: boolean;
  /** Forwards what came while the watch was held; undefined if it is not held. */
  held?: (() => void)[] | undefined;
}

/** The watches through a proxy, which a test can break, silence and hold. */
export class ProxiedWatches {
  /** Watches that were forwarded, and that the API server has not accepted yet. */
  readonly #opening = new Set<http.IncomingMessage>();
  readonly #open = new Set<OpenWatch>();

  /** How many watches are open now. */
  get count(): number {
    return this.#open.size;
  }

  /** The paths of the watches that are open now. */
  get paths(): string[] {
    return [...this.#open].map(({ request }) => request.url ?? "");
  }

  /** Breaks every watch that is open, or about to open. */
  cut(): void {
    for (const request of this.#opening) request.socket.destroy();
    for (const { request } of this.#open) request.socket.destroy();
  }

  /** Ends every open watch in good order, as API servers do after its timeout. */
  end(): void {
    for (const { answer } of this.#open) answer.end();
  }

  /** Keeps every open watch open, but forwards no more events. */
  silence(): void {
    for (const watch of this.#open) watch.isSilent = true;
  }

  /** Holds back the events of every open watch, until `release`. */
  hold(): void {
    for (const watch of this.#open) watch.held ??= [];
  }

  /** Forwards the events that were held back. */
  release(): void {
    for (const watch of this.#open) {
      const { held = [] } = watch;
      watch.held = undefined;
      for (const forward of held) forward();
    }
  }

  /** Notes a watch that is about to open. */
  opening({ request, answer }: Exchange): void {
    this.#opening.add(request);
    answer.on("close", () => this.#opening.delete(request));
  }

  /** Notes that a watch is open. Returns the function that forwards its events. */
  opened(exchange: Exchange, { isSilent }: { readonly isSilent: boolean }): Forward {
    const watch: OpenWatch = { ...exchange, isSilent };
    this.#opening.delete(exchange.request);
    this.#open.add(watch);
    exchange.answer.on("close", () => this.#open.delete(watch));
    return (act) => {
      if (watch.held) watch.held.push(act);
      else if (!watch.isSilent && !exchange.answer.writableEnded) act();
    };
  }
}

/** Forwards a part of an answer by `act`: now, later or never. */
export type Forward = (act: () => void) => void;
