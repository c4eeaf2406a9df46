import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type ConfigMap } from "../../../common/api/resources.ts";
import { Cache, type Change } from "../../../common/kube/cache.ts";
import { type FollowTiming, wholeObjects } from "../../../common/kube/follow.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { type Arrival, type Fault, FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, running, sameAsLive, workspace } from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const soon = () => AbortSignal.timeout(20_000);

/** A namespace with the ConfigMaps `a` and `b`, and a cache that reaches it through a proxy. */
async function cacheBehindProxy(timing?: FollowTiming) {
  const at = await workspace(provider, "kube-faults");
  const { kube, namespace } = at;
  const proxy = await FaultProxy.start(provider);
  const connected = await connect(await proxy.kubeconfig());
  const disconnections: unknown[] = [];
  const selection = { namespace, labelSelector: "team" }; // not the ConfigMap of every namespace
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection), {
    reports: { disconnected: (error) => disconnections.push(error) },
    ...(timing ? { timing } : {}),
  });
  const changes: string[] = [];
  cache.onChange(({ before, after }: Change<ConfigMap>) => {
    const value = (object?: ConfigMap) => object?.data?.["k"] ?? "-";
    changes.push(`${(after ?? before)?.metadata.name}: ${value(before)} → ${value(after)}`);
  });
  const write = (name: string, value: string) =>
    kube.apply(CONFIG_MAPS, configMap(namespace, name, { k: value }, { team: "a" }), cli);
  await write("a", "1");
  await write("b", "1");
  return {
    proxy,
    kube: connected.kube,
    cache,
    disconnections,
    changes,
    write,
    remove: (name: string) => kube.delete(CONFIG_MAPS, { namespace, name }),
    /** Waits until the cache shows this value. */
    seen: (name: string, value: string) =>
      cache.waitFor({ namespace, name }, ({ data }) => data?.["k"] === value, soon()),
    sameAsLive: () => sameAsLive(cache, kube, CONFIG_MAPS, selection),
    async [Symbol.asyncDispose]() {
      connected[Symbol.dispose]();
      await proxy[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

const listsAll = ({ path }: Arrival): boolean =>
  path.includes("sendInitialEvents=true") || !path.includes("watch=true");

const expired = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  reason: "Expired",
  message: "too old resource version",
  code: 410,
});

Deno.test("Cache resumes a broken watch without a new list, and misses no change", async () => {
  await using at = await cacheBehindProxy();
  await using _ = await running(at.cache, at.kube);
  const before = at.changes.length;
  at.proxy.arrivals.length = 0;
  at.proxy.faults = () => ({ kind: "resetBefore" });
  at.proxy.watches.cut();
  await eventually("the cut was noticed", () => at.cache.brokenForMs() !== undefined);
  await at.write("a", "2");
  await at.write("c", "1");
  await at.remove("b");
  await at.write("a", "3");
  await at.remove("c");
  at.proxy.faults = () => undefined;
  await at.seen("a", "3");
  await at.sameAsLive();
  assert.deepEqual(
    at.changes.slice(before),
    ["a: 1 → 2", "c: - → 1", "b: 1 → -", "a: 2 → 3", "c: 1 → -"],
  );
  assert.ok(at.proxy.arrivals.length > 0);
  assert.ok(at.proxy.arrivals.every(({ path }) => /resourceVersion=\d+/.test(path)));
  assert.deepEqual(at.proxy.arrivals.filter(listsAll), []);
});

Deno.test("Cache.brokenForMs() grows during an outage, and is undefined after it", async () => {
  await using at = await cacheBehindProxy();
  await using _ = await running(at.cache, at.kube);
  assert.equal(at.cache.brokenForMs(), undefined);
  at.proxy.faults = () => ({ kind: "status", code: 503 });
  at.proxy.watches.cut();
  await eventually("the outage lasts", () => (at.cache.brokenForMs() ?? 0) > 300);
  assert.equal(at.cache.size, 2);
  await at.remove("b");
  at.proxy.faults = () => undefined;
  await eventually("the outage is over", () => at.cache.brokenForMs() === undefined);
  await at.sameAsLive();
  assert.ok(at.disconnections.length >= 2);
});

const expiries: [name: string, fault: Fault][] = [
  ["a response", { kind: "status", code: 410, body: expired }],
  ["a watch event", { kind: "lines", pass: () => [`{"type":"ERROR","object":${expired}}`] }],
];
for (const [name, fault] of expiries) {
  Deno.test(`Cache lists again when ${name} says that its resourceVersion is too old`, async () => {
    await using at = await cacheBehindProxy();
    await using _ = await running(at.cache, at.kube);
    at.proxy.arrivals.length = 0;
    at.proxy.faults = (request) => listsAll(request) ? undefined : fault;
    at.proxy.watches.cut();
    await eventually("the cut was noticed", () => at.cache.brokenForMs() !== undefined);
    await at.remove("b");
    await at.write("c", "1");
    await at.seen("c", "1");
    at.proxy.faults = () => undefined;
    await at.sameAsLive();
    assert.equal(at.proxy.arrivals.filter(listsAll).length, 1);
    assert.ok(
      at.disconnections.some((error) => error instanceof KubeError && error.status === 410),
    );
    assert.deepEqual(at.changes.filter((change) => change.startsWith("a")), ["a: - → 1"]);
    await at.write("a", "2");
    await at.seen("a", "2");
  });
}

Deno.test("Cache replaces a silent watch, and reports no outage", async () => {
  const timing = { silenceMs: 1_500, backoff: { baseMs: 20, capMs: 100 } };
  await using at = await cacheBehindProxy(timing);
  await using _ = await running(at.cache, at.kube);
  at.proxy.arrivals.length = 0;
  at.proxy.watches.silence();
  await at.write("a", "2");
  await at.remove("b");
  await at.seen("a", "2");
  await at.sameAsLive();
  assert.deepEqual(at.proxy.arrivals.filter(listsAll), []);
  assert.deepEqual(at.disconnections, []);
  await eventually("the silent watch is gone", () => at.proxy.watches.count === 1);
});

Deno.test("Cache gives up on a watch that stalls after the response headers", async () => {
  const timing = { silenceMs: 1_000, backoff: { baseMs: 20, capMs: 100 } };
  await using at = await cacheBehindProxy(timing);
  at.proxy.faults = ({ count }) => count <= 2 ? { kind: "stall", afterHead: true } : undefined;
  await using _ = await running(at.cache, at.kube);
  assert.equal(at.proxy.arrivals.length, 3);
  await at.sameAsLive();
});

Deno.test("Cache retries a refused first list with back-off", async (t) => {
  for (const code of [429, 500, 503]) {
    await t.step(`${code}`, async () => {
      await using at = await cacheBehindProxy();
      at.proxy.faults = ({ count }) => count <= 4 ? { kind: "status", code } : undefined;
      await using _ = await running(at.cache, at.kube);
      const [first, second, third, fourth] = at.proxy.arrivals.map(({ atMs }) => atMs);
      assert.equal(at.proxy.arrivals.length, 5);
      assert.ok(
        (second ?? 0) - (first ?? 0) >= 45 && (fourth ?? 0) - (third ?? 0) >= 190,
        `arrived at ${[first, second, third, fourth]}`,
      );
      await at.sameAsLive();
    });
  }
  await t.step("429 with Retry-After", async () => {
    await using at = await cacheBehindProxy();
    at.proxy.faults = ({ count }) =>
      count === 1 ? { kind: "status", code: 429, headers: { "Retry-After": "1" } } : undefined;
    await using _ = await running(at.cache, at.kube);
    const [first, second] = at.proxy.arrivals.map(({ atMs }) => atMs);
    assert.ok((second ?? 0) - (first ?? 0) >= 990);
  });
});

Deno.test("Cache opens at most a few watches a second when the server ends each at once", async (t) => {
  const endings: [name: string, fault: Fault][] = [
    ["with an empty response", { kind: "status", code: 200 }],
    ["with 503", { kind: "status", code: 503 }],
    ["with a reset", { kind: "resetBefore" }],
  ];
  for (const [name, fault] of endings) {
    await t.step(name, async () => {
      await using at = await cacheBehindProxy();
      await using _ = await running(at.cache, at.kube);
      at.proxy.arrivals.length = 0;
      const startedAt = performance.now();
      at.proxy.faults = () => fault;
      at.proxy.watches.cut();
      await eventually("three seconds are over", () => performance.now() - startedAt > 3_000);
      const count = at.proxy.arrivals.length;
      assert.ok(count >= 3 && count <= 8, `${count} arrivals in 3 s`);
      at.proxy.faults = () => undefined;
      await at.write("a", "2");
      await at.seen("a", "2");
      await at.sameAsLive();
    });
  }
});

Deno.test("Cache does not restore an object that was deleted during its first list", async () => {
  await using at = await cacheBehindProxy();
  // Delays the bookmark that ends the list until the delete has passed.
  let bookmark: string | undefined;
  const pass = (line: string): string[] => {
    if (line.includes("k8s.io/initial-events-end")) {
      bookmark = line;
      return [];
    }
    return bookmark && line.includes('"DELETED"') ? [line, bookmark] : [line];
  };
  at.proxy.faults = () => ({ kind: "lines", pass });
  const starting = running(at.cache, at.kube);
  await eventually("the list is held back", () => bookmark);
  await at.write("a", "2");
  await at.remove("b");
  await using _ = await starting;
  await at.sameAsLive();
  assert.deepEqual(at.changes, ["a: - → 2"]);
});

Deno.test("Cache resumes a watch that sent invalid JSON", async () => {
  await using at = await cacheBehindProxy();
  await using _ = await running(at.cache, at.kube);
  at.proxy.arrivals.length = 0;
  at.proxy.faults = ({ count }) =>
    count === 2 ? { kind: "lines", pass: () => ["<html>"] } : undefined;
  at.proxy.watches.cut();
  await at.write("a", "2");
  await at.seen("a", "2");
  await at.sameAsLive();
  assert.ok(at.disconnections.some((error) => error instanceof SyntaxError));
  assert.deepEqual(at.proxy.arrivals.filter(listsAll), []);
});

Deno.test("Cache falls back to paged lists when the server does not stream lists", async () => {
  await using at = await cacheBehindProxy();
  at.proxy.faults = ({ path }) =>
    path.includes("sendInitialEvents") ? { kind: "status", code: 422 } : undefined;
  await using _ = await running(at.cache, at.kube);
  assert.deepEqual(at.proxy.arrivals.map(({ isWatch }) => isWatch).slice(0, 2), [true, false]);
  assert.match(at.proxy.arrivals[1]?.path ?? "", /limit=500/);
  await at.write("a", "2");
  await at.seen("a", "2");
  await at.remove("b");
  at.proxy.arrivals.length = 0;
  at.proxy.faults = () =>
    at.proxy.arrivals.length === 1 ? { kind: "status", code: 410, body: expired } : undefined;
  at.proxy.watches.cut();
  await at.write("a", "3");
  await at.seen("a", "3");
  await at.sameAsLive();
  await eventually("the watch goes on", () => at.cache.brokenForMs() === undefined);
  assert.deepEqual(at.proxy.arrivals.map(({ isWatch }) => isWatch), [true, false, true]);
});
