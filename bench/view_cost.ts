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
  /** Makes a change; each round another one. */
  readonly change: (provider: GrowingProvider, round: number) => Promise<unknown>;
}

/** Numbers that no object of the provider has. */
const EXTRA = 10_000_000;

/** The views whose cost grows with what a provider holds. */
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

/** What a view costs a caller who is alone, in milliseconds. */
export interface ViewCost {
  /** The first time, which opens what is opened on demand. */
  readonly firstMs: number;
  /** While nothing changes. */
  readonly keptMs: number;
  /** Right after a change. */
  readonly rebuiltMs: number;
  /** For those who have it already. */
  readonly unchangedMs: number;
  /** Of a request that asks for nothing, at the same time: the machine's mood is in both. */
  readonly bareMs: number;
  /** As it is sent, compressed. */
  readonly bytes: number;
}

/** Asks for a view, first without anything to compare with. */
export async function firstAnswer(url: string, token: string): Promise<Answer> {
  const answer = await ask(url, token);
  if (answer.status !== 200) throw new Error(`${url} was answered ${answer.status}`);
  return answer;
}

/** The cost while nothing changes: of the whole answer, and of being told that it is the same. */
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

/** The cost right after a change, which has to be built into the answer. */
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
    // Asked for what is new: the one that gets it is the one for whom it was built.
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

/** Not by `fetch`, which would unpack the answer, and so measure that as well. */
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
