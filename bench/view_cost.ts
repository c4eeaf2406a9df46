import http from "node:http";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CATALOG_API_VERSION } from "../common/api/groups.ts";
import { COLLECTIONS } from "../common/api/resources.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { median } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";
import { load } from "./load.ts";
import { cogFor, COGS, consumerUid, EXPORT } from "./samples.ts";

/** A view, and a change that it shows. */
export interface View {
  readonly name: "catalog" | "clusters" | "instances";
  readonly path: string;
  /** Makes a different change in each round. */
  readonly change: (provider: GrowingProvider, round: number) => Promise<unknown>;
}

/** Above the numbers of all objects on the provider. */
const EXTRA = 10_000_000;

/** The views whose cost grows with the provider. */
export const VIEWS: readonly View[] = [
  {
    name: "catalog",
    path: "/api/catalog",
    change: ({ kube }, round) =>
      kube.apply(COLLECTIONS, {
        apiVersion: CATALOG_API_VERSION,
        kind: "Collection",
        metadata: { name: "changing" },
        spec: { title: `Round ${round}`, exports: [{ name: EXPORT }] },
      }, FIELD_MANAGERS.cli),
  },
  { name: "clusters", path: "/api/clusters", change: (provider) => provider.beat(0) },
  {
    name: "instances",
    path: `/api/catalog/${EXPORT}/instances`,
    change: ({ kube }, round) => {
      const cog = cogFor(EXTRA + Math.floor(round / 2), consumerUid(0));
      return round % 2 === 0
        ? kube.create(COGS, cog, FIELD_MANAGERS.cli)
        : kube.delete(COGS, { name: cog.metadata.name, namespace: "default" });
    },
  },
];

/** The cost of a view for a single caller, in milliseconds. */
export interface ViewCost {
  /** The first read, which opens watches. */
  readonly firstMs: number;
  /** A read without a change. */
  readonly keptMs: number;
  /** A read right after a change. */
  readonly rebuiltMs: number;
  /** A read that is answered 304. */
  readonly unchangedMs: number;
  /** A request for /api/healthz at the same time, on the equally busy machine. */
  readonly bareMs: number;
  /** The size of the compressed answer. */
  readonly bytes: number;
}

/** Reads a view without an ETag. */
export async function firstAnswer(url: string, token: string): Promise<Answer> {
  const answer = await ask(url, token);
  if (answer.status !== 200) throw new Error(`${url} was answered ${answer.status}`);
  return answer;
}

/** Measures a view without changes: the whole answer, and a 304. */
export async function costAtRest(
  { url, token }: { url: string; token: string },
  path: string,
  { seconds, turns }: { seconds: number; turns: number },
): Promise<Pick<ViewCost, "keptMs" | "unchangedMs" | "bareMs" | "bytes">> {
  const { etag } = await firstAnswer(url + path, token);
  const kept = await load(url + path, { token, inFlight: 1, seconds });
  const [unchanged, bare]: [number[], number[]] = [[], []];
  const share = { inFlight: 1, seconds: seconds / turns / 2 };
  for (let turn = 0; turn < turns; turn++) {
    unchanged.push((await load(url + path, { token, etag, ...share })).p50);
    bare.push((await load(`${url}/api/healthz`, share)).p50);
  }
  return {
    keptMs: kept.p50,
    unchangedMs: median(unchanged),
    bareMs: median(bare),
    bytes: kept.bytes,
  };
}

/** Measures a view right after a change, when the answer must be rebuilt. */
export async function costOfChange(
  { path, change }: View,
  provider: GrowingProvider,
  { url, token }: { url: string; token: string },
  rounds: number,
): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { etag } = await firstAnswer(url + path, token);
    await change(provider, round);
    // With the old ETag, the first 200 is the answer that had to be rebuilt.
    const { tookMs } = await eventually(`${path} shows the change`, async () => {
      const answer = await ask(url + path, token, etag);
      return answer.status === 200 && answer;
    });
    times.push(tookMs);
  }
  return median(times);
}

interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly tookMs: number;
}

/** Reads without `fetch`, which would also measure the decompression. */
function ask(url: string, token: string, etag?: string): Promise<Answer> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      "Accept-Encoding": "gzip",
      ...(etag === undefined ? {} : { "If-None-Match": etag }),
    };
    http.get(url, { headers }, (answer) => {
      answer.resume();
      answer.once("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          etag: answer.headers.etag ?? "",
          tookMs: performance.now() - start,
        }));
    }).once("error", reject);
  });
}
