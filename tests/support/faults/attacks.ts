import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import { GRANTS } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { PEMS, submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";
import { BlackHole } from "../peers/black_hole.ts";
import type { ExhaustionWorld } from "../worlds/exhaustion_world.ts";
import { Flood, type FloodRequest } from "./flood.ts";
import { postJson } from "../worlds/gateway_world.ts";
import { HeldConnections } from "../peers/held_connections.ts";

/** A denial-of-service attack on a gateway. */
export interface Attack {
  readonly name: string;
  /** Starts the attack, which goes on until it is disposed. */
  begin(world: ExhaustionWorld): Promise<Standing>;
  /** The statuses that an attacker may get; an empty list means no answers during the attack. */
  readonly statuses: readonly number[];
  /** The resources that the gateway may write during the attack; none by default. */
  readonly writes?: readonly string[];
}

/** A running attack. */
export interface Standing extends AsyncDisposable {
  /** How often each status was answered so far. */
  readonly statuses?: ReadonlyMap<number, number>;
}

const MIB = 1024 * 1024;
const FLOOD = 20;
/** The largest answer that needs no login. */
const KONNECTOR = "GET /api/konnector HTTP/1.1\r\nHost: x\r\n\r\n";

/** Keeps connections open on which a request or its answer never ends. */
const held = (
  name: string,
  count: number,
  said: (world: ExhaustionWorld) => string | Promise<string>,
): Attack => ({
  name: `${count} ${name}`,
  begin: async (world) => HeldConnections.open(world.gateway.url, count, await said(world)),
  statuses: [],
});

/** Sends requests until it is disposed. */
const flood = (
  name: string,
  statuses: readonly number[],
  send: (world: ExhaustionWorld) => FloodRequest | Promise<FloodRequest>,
  atOnce = FLOOD,
): Attack => ({
  name: `a flood of ${name}`,
  begin: async (world) => new Flood(atOnce, await send(world)),
  statuses,
});

const kubeconfigTo = (server: string): string =>
  submitted(kubeconfigFor({
    cluster: "c",
    server,
    caPem: PEMS.ca,
    user: "u",
    credentials: { token: "t" },
  }));

/** Small texts that cost a careless parser seconds or gigabytes. */
const BOMBS: readonly string[] = [
  ...[
    "a: &a [x,x,x,x,x,x,x,x,x]\n" +
    Array.from({ length: 9 }, (_, n) => {
      const [from, to] = [String.fromCharCode(97 + n), String.fromCharCode(98 + n)];
      return `${to}: &${to} [${Array(9).fill(`*${from}`).join()}]\n`;
    }).join(""),
    Array.from({ length: 15_000 }, (_, n) => `key${n}: 1\n`).join(""),
    "[".repeat(100_000),
    `${"- ".repeat(60_000)}x`,
    `a: ${"'".repeat(190_000)}`,
    `? ${"? ".repeat(60_000)}`,
    `{${"a: {".repeat(40_000)}`,
    `"${"\\u0041".repeat(30_000)}"`,
  ].map((yaml) => JSON.stringify({ export: "widgets", kubeconfig: submitted(yaml) })),
  "[".repeat(MIB - 1),
  '{"a":'.repeat(200_000),
  `{"kubeconfig":"x",${
    Array.from({ length: 60_000 }, (_, n) => `"k${n}":${n}`).join()
  },"export":7}`,
  `{"kubeconfig":${"1".repeat(900_000)}}`,
];

/** Attacks that must not affect other callers. */
export const ATTACKS: readonly Attack[] = [
  held("half-sent headers", 1_000, () => "GET /api/healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "),
  held("half-sent bodies", 500, async (world) => {
    const head = `POST /api/bind HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await world
      .seal("slow")}\r\n`;
    return `${head}Content-Length: 10000\r\n\r\n{"export": `;
  }),
  held("clients that never read", 200, () => KONNECTOR.repeat(10)),
  held("clients with too many pipelined requests", 200, () => KONNECTOR.repeat(25)),
  flood("oversized bodies", [413], async (world) => {
    const token = await world.seal("large");
    const body = " ".repeat(4 * MIB);
    return (nth) =>
      world.gateway.as(token, "/api/bind", {
        method: "POST",
        body: nth % 2 ? body : new Blob([body]).stream(), // with a length, and in chunks
      });
  }, 8),
  flood(
    "bad tokens",
    [401, 503],
    (world) => (nth) => world.gateway.as(`garbage-${nth}`, "/api/me"),
  ),
  flood(
    "unfinished logins",
    [302],
    (world) => (nth) => world.gateway.request(`/api/auth/oidc/login?redirect=/${nth}`),
  ),
  {
    name: "200 binds that wait for an issuer",
    begin: async (world) => {
      await using stack = new AsyncDisposableStack();
      const body = JSON.stringify({ export: "widgets" });
      for (const who of ["waiting", "waiting too"]) { // one identity may have only a hundred
        const token = await world.seal(who);
        const head = `POST /api/bind HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
        const said = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
        stack.use(await HeldConnections.open(world.gateway.url, 100, said));
      }
      await eventually("their Grants wait", async () => {
        return (await world.provider.kube.list(GRANTS)).length >= 2;
      });
      return stack.move();
    },
    statuses: [],
    writes: ["grants"],
  },
  {
    name: "50 applies to a black hole",
    begin: async (world) => {
      const hole = new BlackHole();
      const request = postJson({ kubeconfig: kubeconfigTo(hole.url), installKonnector: true });
      const tokens = await Promise.all(
        Array.from({ length: 50 }, (_, index) => world.seal(`applier-${index % 20}`)),
      );
      const applies = new Flood(50, async (nth) => {
        const answer = await world.gateway.as(tokens[nth % 50] ?? "", "/api/apply", request);
        if (answer.status === 503) await sleep(1_000); // obeys Retry-After
        return answer;
      });
      return {
        statuses: applies.statuses,
        [Symbol.asyncDispose]: async () => {
          const over = applies[Symbol.asyncDispose]();
          await hole[Symbol.asyncDispose]();
          await over;
        },
      };
    },
    statuses: [502, 503],
  },
  flood("bombs in YAML and JSON", [400], async (world) => {
    // Many identities, because each may have only a few applies at once.
    const tokens = await Promise.all(
      Array.from({ length: 64 }, (_, index) => world.seal(`bomber-${index}`)),
    );
    return (nth) =>
      world.gateway.as(tokens[nth % tokens.length] ?? "", "/api/apply", {
        method: "POST",
        body: BOMBS[nth % BOMBS.length] ?? "",
      });
  }, 8),
];
