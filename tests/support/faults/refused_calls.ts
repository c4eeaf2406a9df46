/**
 * Prints how many bytes each refused call leaks. It is a separate program, because `gc()` needs
 * a V8 flag.
 */
import { setImmediate } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { Transport } from "../../../common/kube/transport.ts";
import { exchangeText } from "../../../common/http/exchange.ts";
import { webConnections } from "../../../common/http/web_connections.ts";

declare const gc: () => void;

const CALLS = 200;
const ROUNDS = 5;
const server = "https://127.0.0.1:1"; // a closed port
const never = new AbortController().signal;

async function usedBytes(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    gc();
    await setImmediate(); // finalizers run in between
  }
  return getHeapStatistics().used_heap_size;
}

/**
 * Returns the median of a few rounds: a leak grows in every round, while code that is loaded or
 * compiled once counts in one round only.
 */
async function bytesPerCall(call: () => Promise<unknown>): Promise<number> {
  const used = [await usedBytes()];
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < CALLS; i++) await call().catch(() => {});
    used.push(await usedBytes());
  }
  const grown = used.slice(1).map((bytes, round) => bytes - (used[round] ?? 0));
  const median = grown.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN;
  return Math.round(median / CALLS);
}

using transport = new Transport({
  origin: "a test",
  server,
  context: "",
  insecureSkipTlsVerify: false,
  auth: { kind: "none" },
  impersonation: {},
}, { userAgent: "xbind-tests" });
const call = { method: "GET", path: "/", attempt: "Cannot call", timeoutMs: 15_000 };
using connections = webConnections(new URL(server), {});
const request = { method: "GET", path: "/", headers: {} };
const leaked = {
  kubernetes: await bytesPerCall(() => transport.send(call)),
  identityProvider: await bytesPerCall(() =>
    exchangeText(new URL(server), connections, request, { maxBytes: 1, signal: never })
  ),
};
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(leaked)));
Deno.exit(0);
