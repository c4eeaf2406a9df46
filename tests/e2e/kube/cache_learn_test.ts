import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type ConfigMap } from "../../../common/api/resources.ts";
import { Cache, type Change } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { configMap, running, workspace } from "../../support/planes/kube.ts";

const GATEWAY = "xbind-gateway";

/** A cache of one namespace's ConfigMaps, and every change it announced. */
async function watched() {
  const stack = new AsyncDisposableStack();
  const { kube, namespace } = stack.use(await workspace(await sharedProvider(), "learn"));
  const cache = new Cache(wholeObjects(CONFIG_MAPS, { namespace }));
  const changes: Change<ConfigMap>[] = [];
  cache.onChange((change) => changes.push(change));
  stack.use(await running(cache, kube));
  const key = { namespace, name: "a" };
  return { kube, cache, changes, key, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

Deno.test("Cache.learn() shows a write at once, and its watch event changes nothing", async () => {
  await using world = await watched();
  const { kube, cache, changes, key } = world;
  const written = await kube.create(
    CONFIG_MAPS,
    configMap(key.namespace, key.name, { value: "1" }),
    GATEWAY,
  );
  cache.learn(written, GATEWAY);
  assert.equal(cache.get(key)?.data?.["value"], "1");
  const marker = { ...key, name: "marker" };
  await kube.create(CONFIG_MAPS, configMap(marker.namespace, marker.name), GATEWAY);
  await cache.waitFor(marker, () => true, AbortSignal.timeout(30_000));
  const ofKey = changes.filter(({ after }) => after?.metadata.name === key.name);
  assert.ok(ofKey.length === 1, "announced once");
});

Deno.test("Cache.learn() keeps the newest of several writes while the watch catches up", async () => {
  await using world = await watched();
  const { kube, cache, changes, key } = world;
  for (const value of ["1", "2", "3"]) {
    cache.learn(
      await kube.apply(CONFIG_MAPS, configMap(key.namespace, key.name, { value }), GATEWAY),
      GATEWAY,
    );
  }
  const marker = { ...key, name: "marker" };
  await kube.create(CONFIG_MAPS, configMap(marker.namespace, marker.name), GATEWAY);
  await cache.waitFor(marker, () => true, AbortSignal.timeout(30_000));
  const seen = changes.map(({ after }) => after?.data?.["value"]).filter(Boolean);
  assert.deepEqual(seen, [...seen].sort(), "the cache went back to an older version");
  assert.equal(cache.get(key)?.data?.["value"], "3");
});

Deno.test("Cache.learn() does not restore a deleted object", async () => {
  await using world = await watched();
  const { kube, cache, key } = world;
  const written = await kube.create(
    CONFIG_MAPS,
    configMap(key.namespace, key.name, { value: "1" }),
    GATEWAY,
  );
  await cache.waitFor(key, () => true, AbortSignal.timeout(30_000));
  await kube.delete(CONFIG_MAPS, key, {});
  await eventually("the cache has seen the delete", () => cache.get(key) === undefined);
  cache.learn(written, GATEWAY);
  assert.equal(cache.get(key), undefined);
});
