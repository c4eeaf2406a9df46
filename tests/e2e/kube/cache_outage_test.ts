import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS } from "../../../common/api/resources.ts";
import { Cache } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { type Fault, FaultProxy } from "../../support/faults/fault_proxy.ts";
import { connect, running, workspace } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const BACKOFF_MS = 2_000;

/** A cache that reaches a namespace through a proxy, and backs off for long. */
async function cacheBehindProxy() {
  const at = await workspace(provider, "kube-outage");
  const proxy = await FaultProxy.start(provider);
  const { kube, transport } = await connect(await proxy.kubeconfig());
  const backoff = { baseMs: BACKOFF_MS, capMs: BACKOFF_MS };
  const timing = { silenceMs: 90_000, backoff };
  const cache = new Cache(wholeObjects(CONFIG_MAPS, { namespace: at.namespace }), { timing });
  return {
    kube,
    cache,
    proxy,
    async break(fault: Fault) {
      proxy.faults = () => fault;
      proxy.watches.cut();
      await eventually("the cache noticed the break", () => cache.brokenForMs() !== undefined);
    },
    async [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      await proxy[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

Deno.test("Cache.whenConnected() waits until the watch is back or its signal aborts", async () => {
  await using at = await cacheBehindProxy();
  await using _ = await running(at.cache, at.kube);
  await at.cache.whenConnected();

  await at.break({ kind: "resetBefore" });
  const reason = new Error("given up");
  const caller = new AbortController();
  const waiting = at.cache.whenConnected(caller.signal);
  caller.abort(reason);
  await assert.rejects(waiting, reason);

  let isBack = false;
  const connected = at.cache.whenConnected().then(() => isBack = true);
  const tries = at.proxy.arrivals.length;
  await eventually("the cache retried", () => at.proxy.arrivals.length > tries);
  assert.equal(isBack, false);
  at.proxy.faults = () => undefined;
  await connected;
  assert.equal(at.cache.brokenForMs(), undefined);
});

Deno.test("Cache lists again at once when the server answers 410 after an outage", async () => {
  await using at = await cacheBehindProxy();
  await using _ = await running(at.cache, at.kube);
  at.proxy.arrivals.length = 0;
  const isResumed = (path: string) => !path.includes("sendInitialEvents");
  const body = JSON.stringify({ kind: "Status", code: 410, reason: "Expired", message: "old" });
  await at.break({ kind: "resetBefore" });
  at.proxy.faults = ({ path }) => isResumed(path) ? { kind: "status", code: 410, body } : undefined;
  const { atMs: readAtMs } = await eventually(
    "the list came",
    () => at.proxy.arrivals.find(({ path }) => !isResumed(path)),
  );
  const resumed = at.proxy.arrivals.filter(({ path }) => isResumed(path)).at(-1);
  const waitedMs = readAtMs - (resumed?.atMs ?? assert.fail("the watch was not resumed"));
  assert.ok(waitedMs < BACKOFF_MS / 2, `the list came ${waitedMs} ms later`);
});
