import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type ConfigMap, SECRETS } from "../../../common/api/resources.ts";
import { Cache } from "../../../common/kube/cache.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { type FollowTiming, metadataObjects, wholeObjects } from "../../../common/kube/follow.ts";
import { isNotFound, KubeError } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, running, sameAsLive } from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;
const NAMESPACE = "default";
const SELECTION = { namespace: NAMESPACE, labelSelector: "team" };
const soon = () => AbortSignal.timeout(30_000);

const object = (name: string, value: string): ConfigMap =>
  configMap(NAMESPACE, name, { k: value }, { team: "a" });

/** Creates, changes and deletes objects until it is stopped, also while the API server is down. */
function startWriter(kube: KubeClient) {
  const stop = new AbortController();
  const counts = { written: 0, failed: 0 };
  const writing = (async () => {
    for (let round = 1; !stop.signal.aborted; round++) {
      const name = `w${round % 7}`;
      try {
        if (round % 5 === 0) await kube.delete(CONFIG_MAPS, { namespace: NAMESPACE, name });
        else await kube.apply(CONFIG_MAPS, object(name, String(round)), cli);
        counts.written++;
      } catch (error) {
        if (isNotFound(error)) continue;
        assert.ok(error instanceof KubeError, String(error));
        counts.failed++;
      }
    }
  })();
  return {
    counts,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await writing;
    },
  };
}

Deno.test("Cache agrees with the API server after each outage", async (t) => {
  await using plane = await ownPlane({ name: "cache-restart" });
  using connected = await connect(plane);
  using writing = await connect(plane);
  const { kube } = connected;
  const key = { namespace: NAMESPACE, name: "a" };
  const timing: FollowTiming = { silenceMs: 3_000, backoff: { baseMs: 50, capMs: 1_000 } };
  const cache = new Cache(wholeObjects(CONFIG_MAPS, SELECTION), { timing });
  const secrets = new Cache(metadataObjects(SECRETS), { timing });
  const faults: string[] = [];
  cache.onChange(({ before, after }) => {
    const [old, present] = [before?.data?.["k"], after?.data?.["k"]].map(Number);
    if (after && before && !((old ?? 0) < (present ?? 0))) faults.push(`${old} → ${present}`);
  });
  await using _cache = await running(cache, kube);
  await using _secrets = await running(secrets, kube);
  const converged = async () => {
    await sameAsLive(cache, kube, CONFIG_MAPS, SELECTION);
    await sameAsLive(secrets, kube, SECRETS);
    await eventually(
      "both watches are open",
      () => cache.brokenForMs() === undefined && secrets.brokenForMs() === undefined,
    );
    assert.deepEqual(faults, []); // no object went back to an older version
  };

  await t.step("the API server is killed and restarted during writes", async () => {
    await using writer = startWriter(writing.kube);
    await eventually("some writes are done", () => writer.counts.written > 50);
    await plane.apiServer.kill();
    await eventually("the outage is noticed", () => cache.brokenForMs() !== undefined);
    await eventually("some writes have failed", () => writer.counts.failed > 0);
    await plane.apiServer.start();
    const { written } = writer.counts;
    await eventually("more writes are done", () => writer.counts.written > written + 50);
    await eventually("the outage is over", () => cache.brokenForMs() === undefined);
    await writer[Symbol.asyncDispose]();
    await converged();
  });
  await t.step("the API server is stopped and restarted", async () => {
    await plane.apiServer.stop();
    const waiting = cache.waitFor(key, ({ data }) => data?.["k"] === "1", soon());
    await plane.apiServer.start();
    // The write must not fail on a connection that the old server has closed.
    await kube.create(CONFIG_MAPS, object("a", "1"), cli);
    await waiting;
    await converged();
  });
  await t.step("the API server is paused and resumed", async () => {
    await plane.apiServer.pause();
    await eventually("the silence is noticed", () => cache.brokenForMs() !== undefined);
    plane.apiServer.resume();
    await eventually("the outage is over", () => cache.brokenForMs() === undefined);
    await kube.apply(CONFIG_MAPS, object("a", "2"), cli);
    await cache.waitFor(key, ({ data }) => data?.["k"] === "2", soon());
    await converged();
  });
  await t.step("etcd is killed and restarted", async () => {
    await plane.etcd.kill();
    await plane.etcd.start();
    await plane.ready();
    await eventually(
      "writes work again",
      () => kube.apply(CONFIG_MAPS, object("a", "3"), cli).catch(() => undefined),
    );
    await cache.waitFor(key, ({ data }) => data?.["k"] === "3", soon());
    await converged();
  });
});

Deno.test("Cache works with a server that does not stream lists", async (t) => {
  await using plane = await ownPlane({
    name: "cache-paged",
    apiServerArgs: ["--feature-gates=WatchList=false"],
  });
  await using proxy = await FaultProxy.start(plane);
  using connected = await connect(await proxy.kubeconfig());
  using direct = await connect(plane);
  const count = 1_203;
  const write = (index: number, value: string) =>
    direct.kube.apply(CONFIG_MAPS, object(`n${index}`, value), cli);
  await Promise.all(Array.from({ length: count }, (_, index) => write(index, "1")));
  const whole = new Cache(wholeObjects(CONFIG_MAPS, SELECTION));
  const reduced = new Cache(metadataObjects(CONFIG_MAPS, SELECTION));
  const converged = async () => {
    await sameAsLive(whole, direct.kube, CONFIG_MAPS, SELECTION);
    await sameAsLive(reduced, direct.kube, CONFIG_MAPS, SELECTION);
  };
  await using _whole = await running(whole, connected.kube);
  await using _reduced = await running(reduced, connected.kube);
  await t.step("reads all pages", () => {
    assert.deepEqual([whole.size, reduced.size], [count, count]);
    const pages = proxy.arrivals.filter(({ isWatch }) => !isWatch);
    assert.equal(pages.length, 6);
    assert.equal(pages.filter(({ path }) => path.includes("continue=")).length, 4);
  });
  await t.step("follows changes", async () => {
    await write(0, "2");
    await direct.kube.delete(CONFIG_MAPS, { namespace: NAMESPACE, name: "n1" });
    await converged();
  });
  await t.step("reads all pages again after a restart of the server", async () => {
    await plane.apiServer.kill();
    await plane.apiServer.start();
    await eventually("the server is back", () => write(0, "3").catch(() => undefined));
    await direct.kube.delete(CONFIG_MAPS, { namespace: NAMESPACE, name: "n2" });
    await converged();
    assert.equal(whole.size, count - 2);
  });
});
