/**
 * Runs in its own process: a naive server, to compare the gateway with. It lists the objects
 * of a view from the API server for every request, and has neither caches nor sessions.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { say } from "../scripts/say.ts";
import {
  COLLECTIONS,
  EXPORTS,
  type Grant,
  GRANTS,
  type KubeObject,
  LEASES,
} from "../common/api/resources.ts";
import {
  attributionOf,
  type HeartbeatLookup,
  textOfOrigin,
} from "../server/inventory/attribution.ts";
import { catalogOf } from "../server/inventory/catalog.ts";
import { ClusterList } from "../server/inventory/clusters.ts";
import { connectionKey, decodeHeartbeat, type Heartbeat } from "../server/provider/heartbeats.ts";
import { instancesOf } from "../server/inventory/instances.ts";
import { ANNOTATIONS, LABELS } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { COGS } from "./samples.ts";

const MANAGED = { labelSelector: `${LABELS.managed}=true` };
const [kubeconfig = ""] = Deno.args;
const { kube } = await connect(kubeconfig);

async function heartbeats(): Promise<HeartbeatLookup> {
  const found = new Map<string, Heartbeat[]>();
  for (const lease of await kube.list(LEASES, MANAGED)) {
    const beat = decodeHeartbeat(lease, Date.now());
    const key = connectionKey(beat.metadata.namespace ?? "", beat.connection ?? "");
    found.set(key, [...found.get(key) ?? [], beat]);
  }
  return { find: (_, key) => found.get(key) ?? [] };
}

const objects = (): Promise<KubeObject[]> => kube.list(COGS, MANAGED);

async function clusters(): Promise<string> {
  const [grants, beats, synced] = await Promise.all([kube.list(GRANTS), heartbeats(), objects()]);
  const counts = new Map<string, number>();
  for (const { metadata: { annotations } } of synced) {
    const uid = annotations?.[ANNOTATIONS.consumerClusterUid] ?? "";
    counts.set(uid, (counts.get(uid) ?? 0) + 1);
  }
  const syncedCounts = (_: string, uid: string) => counts.get(uid) ?? 0;
  return new ClusterList()
    .view({ grants, heartbeats: beats, syncedCounts, nowMs: Date.now() }).json;
}

async function instances(name: string) {
  const [offer, grants, beats, synced] = await Promise.all([
    kube.get(EXPORTS, { name }),
    kube.list(GRANTS),
    heartbeats(),
    objects(),
  ]);
  const attribution = attributionOf(grants, beats);
  return instancesOf(offer, {
    managedObjects: () => synced,
    managedCopies: () => [],
    providerObjects: () => [],
    identityOf: (uid, grant) => textOfOrigin(attribution, uid, grant),
    exportOf: (grant) => grants.find(named(grant))?.spec.exportName,
  });
}

const named = (name: string) => ({ metadata }: Grant): boolean => metadata.name === name;

async function answerTo(path: string): Promise<string> {
  if (path === "/api/clusters") return await clusters();
  const [, exportName] = /^\/api\/catalog\/([^/]+)\/instances$/.exec(path) ?? [];
  if (exportName) return JSON.stringify(await instances(exportName));
  const [exports, collections] = await Promise.all([kube.list(EXPORTS), kube.list(COLLECTIONS)]);
  return JSON.stringify(catalogOf(exports, collections));
}

const server = http.createServer(async (request, answer) => {
  const body = new TextEncoder().encode(await answerTo(request.url ?? "/"));
  answer.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": String(body.byteLength),
  });
  answer.end(body);
});
server.listen(0, "127.0.0.1", () => {
  say(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
