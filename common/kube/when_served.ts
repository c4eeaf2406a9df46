import type { ResourceType } from "../api/resources.ts";
import { Backoff } from "../time/backoff.ts";
import { sleep } from "../time/wait.ts";
import type { KubeClient } from "./client.ts";
import { KubeError } from "./kube_error.ts";
import { collectionPath } from "./paths.ts";

/** Resolves once a cluster serves a kind. Throws the last refusal if it does not in time. */
export async function whenServed(
  kube: KubeClient,
  type: ResourceType,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + waitMs;
  const backoff = new Backoff({ baseMs: 50, capMs: 500 });
  while (true) {
    try {
      await kube.request("GET", `${collectionPath(type)}?limit=1`, undefined, signal);
      return;
    } catch (error) {
      // For a new API the server answers 404 at first, then 429.
      const isNotYet = error instanceof KubeError && [404, 429, 503].includes(error.status);
      if (!isNotYet || performance.now() >= end) throw error;
      await sleep(backoff.next(), signal);
    }
  }
}
