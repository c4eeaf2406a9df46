/** Runs in its own process: fills a metadata cache, and prints its time and memory. */
import { CONFIG_MAPS, SECRETS } from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import { KubeClient } from "../common/kube/client.ts";
import { metadataObjects } from "../common/kube/follow.ts";
import { loadTarget } from "../common/kube/load_target.ts";
import { Transport } from "../common/kube/transport.ts";
import { LABELS } from "../common/api/names.ts";
import { say } from "../scripts/say.ts";
import type { CacheMemory } from "./cache_memory.ts";

const [kubeconfig = ""] = Deno.args;
const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
const kube = new KubeClient(new Transport(target, { userAgent: "xbind-bench" }));
const stop = new AbortController();

// Fill a small cache first, so that code and connections are not measured.
const warmUp = new Cache(metadataObjects(SECRETS));
const warming = warmUp.run(kube, stop.signal);
await warmUp.whenSynced();

const before = Deno.memoryUsage().rss;
const start = performance.now();
const labelSelector = `${LABELS.managed}=true`;
const cache = new Cache(metadataObjects(CONFIG_MAPS, { labelSelector }));
const running = cache.run(kube, stop.signal);
await cache.whenSynced();
const result: CacheMemory = {
  objects: cache.size,
  syncMs: performance.now() - start,
  residentBytes: Deno.memoryUsage().rss - before,
};
say(JSON.stringify(result));
stop.abort();
await Promise.all([warming, running]);
Deno.exit(0);
