import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type ConfigMap, SECRETS } from "../../../common/api/resources.ts";
import { Cache, type Change } from "../../../common/kube/cache.ts";
import { type FollowSource, metadataObjects, wholeObjects } from "../../../common/kube/follow.ts";
import { FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import {
  configMap,
  running,
  sameAsLive,
  type Workspace,
  workspace,
} from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

/** Long enough for any event, short enough to fail in reasonable time. */
const soon = () => AbortSignal.timeout(20_000);

/** Selects labelled ConfigMaps, to leave out the ConfigMap that every namespace has. */
const selection = (namespace: string) => ({ namespace, labelSelector: "team" });

const write = ({ kube, namespace }: Workspace, name: string, team = "a", value = "") =>
  kube.apply(CONFIG_MAPS, configMap(namespace, name, { k: value }, { team }), cli);

const names = (objects: Iterable<ConfigMap>): string[] =>
  [...objects].map(({ metadata }) => metadata.name).sort();

Deno.test("Cache lists the objects, and follows their changes", async () => {
  await using at = await workspace(provider, "kube-cache");
  await Promise.all(["a", "b", "c"].map((name) => write(at, name)));
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)));
  assert.equal(cache.hasSynced, false);
  await using _ = await running(cache, at.kube);
  assert.equal(cache.hasSynced, true);
  assert.deepEqual(names(cache.values()), ["a", "b", "c"]);
  assert.equal(cache.brokenForMs(), undefined);

  await at.kube.delete(CONFIG_MAPS, { namespace: at.namespace, name: "b" });
  const written = await write(at, "d");
  await cache.waitFor({ namespace: at.namespace, name: "d" }, () => true, soon());
  assert.deepEqual(names(cache.values()), ["a", "c", "d"]);
  assert.equal(cache.size, 3);
  const { managedFields: _fields, ...metadata } = written.metadata as typeof written.metadata & {
    managedFields: unknown;
  };
  assert.deepEqual(cache.get({ namespace: at.namespace, name: "d" }), { ...written, metadata });
  assert.equal(cache.get({ namespace: at.namespace, name: "b" }), undefined);
  assert.equal(cache.get({ namespace: "default", name: "a" }), undefined);
  await sameAsLive(cache, at.kube, CONFIG_MAPS, selection(at.namespace));
});

Deno.test("Cache drops an object that no longer matches its selector", async () => {
  await using at = await workspace(provider, "kube-cache");
  const only = { namespace: at.namespace, labelSelector: "team=a" };
  const cache = new Cache(wholeObjects(CONFIG_MAPS, only));
  await using _ = await running(cache, at.kube);
  const key = { namespace: at.namespace, name: "x" };
  await write(at, "x", "a");
  await cache.waitFor(key, () => true, soon());
  await write(at, "x", "b");
  await cache.waitForAbsence(key, undefined, soon());
  assert.equal(cache.size, 0);
});

Deno.test("Cache holds no more objects than it may, and follows those that it holds", async () => {
  await using at = await workspace(provider, "kube-cache");
  const { namespace } = at;
  await Promise.all(["a", "b", "c"].map((name) => write(at, name)));
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(namespace)), {
    most: { objects: 2, further: "ignored" },
  });
  await using _ = await running(cache, at.kube);
  const [first = "", second = ""] = names(cache.values());
  assert.equal(cache.size, 2);
  await write(at, "d");
  await write(at, first, "a", "new");
  await cache.waitFor({ namespace, name: first }, ({ data }) => data?.["k"] === "new", soon());
  assert.deepEqual(names(cache.values()), [first, second]);
  await at.kube.delete(CONFIG_MAPS, { namespace, name: second });
  await write(at, "e");
  await cache.waitFor({ namespace, name: "e" }, () => true, soon());
  assert.deepEqual(names(cache.values()), [first, "e"].sort());
});

Deno.test("Cache.find() finds objects by index after every change", async () => {
  await using at = await workspace(provider, "kube-cache");
  await write(at, "x", "a");
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)), {
    indexes: {
      team: ({ metadata }) => [metadata.labels?.["team"] ?? ""],
      words: ({ data }) => (data?.["k"] ?? "").split(" ").filter(Boolean),
    },
  });
  await using _ = await running(cache, at.kube);
  const found = (index: "team" | "words", value: string) => names(cache.find(index, value));
  const settle = async (name: string, team: string, value: string) => {
    const { metadata: { resourceVersion } } = await write(at, name, team, value);
    const isWritten = ({ metadata }: ConfigMap) => metadata.resourceVersion === resourceVersion;
    await cache.waitFor({ namespace: at.namespace, name }, isWritten, soon());
  };
  assert.deepEqual(found("team", "a"), ["x"]);
  await settle("y", "a", "red blue");
  assert.deepEqual(found("team", "a"), ["x", "y"]);
  assert.deepEqual(found("words", "blue"), ["y"]);
  await settle("y", "b", "blue green");
  assert.deepEqual(found("team", "a"), ["x"]);
  assert.deepEqual(found("team", "b"), ["y"]);
  assert.deepEqual(["red", "blue", "green"].map((word) => found("words", word)), [[], ["y"], [
    "y",
  ]]);
  await at.kube.delete(CONFIG_MAPS, { namespace: at.namespace, name: "y" });
  await cache.waitForAbsence({ namespace: at.namespace, name: "y" }, undefined, soon());
  assert.deepEqual([...found("team", "b"), ...found("words", "green")], []);
});

Deno.test("Cache.waitFor() waits until its predicate holds", async (t) => {
  await using at = await workspace(provider, "kube-cache");
  await write(at, "a", "a", "1");
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)));
  const key = { namespace: at.namespace, name: "a" };
  const has = (value: string) => ({ data }: ConfigMap) => data?.["k"] === value;
  const early = cache.waitFor(key, has("1"), soon());
  await using _ = await running(cache, at.kube);
  await t.step("resolves a call from before the first sync", async () => {
    assert.equal((await early).data?.["k"], "1");
  });
  await t.step("resolves at once if the predicate holds already", async () => {
    assert.equal(await cache.waitFor(key, has("1"), soon()), cache.get(key));
  });
  await t.step("resolves when a change fulfils the predicate", async () => {
    const waiting = cache.waitFor(key, has("3"), soon());
    await write(at, "a", "a", "2");
    await write(at, "a", "a", "3");
    assert.equal((await waiting).data?.["k"], "3");
  });
  await t.step("rejects with the signal's reason", async () => {
    const caller = new AbortController();
    const reason = new Error("given up");
    const waiting = assert.rejects(
      cache.waitFor(key, has("never"), caller.signal),
      (error) => error === reason,
    );
    caller.abort(reason);
    await waiting;
    await assert.rejects(cache.waitFor(key, has("3"), caller.signal), (error) => error === reason);
  });
  await t.step("rejects with the error of the predicate, at once or later", async () => {
    const fussy = ({ data }: ConfigMap) => {
      if (data?.["k"] === "4") throw new Error("not this one");
      return false;
    };
    const waiting = assert.rejects(cache.waitFor(key, fussy, soon()), /not this one/);
    await write(at, "a", "a", "4");
    await waiting;
    await assert.rejects(cache.waitFor(key, fussy, soon()), /not this one/);
  });
});

Deno.test("Cache.waitForAbsence() resolves when the object is deleted or replaced", async () => {
  await using at = await workspace(provider, "kube-cache");
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)));
  await using _ = await running(cache, at.kube);
  const key = { namespace: at.namespace, name: "a" };
  await cache.waitForAbsence(key, undefined, soon());
  const { metadata: { uid } } = await write(at, "a");
  await cache.waitFor(key, () => true, soon());
  await assert.rejects(cache.waitForAbsence(key, uid, AbortSignal.timeout(50)), /TimeoutError/);
  await cache.waitForAbsence(key, crypto.randomUUID(), soon());

  const replaced = cache.waitForAbsence(key, uid, soon());
  await at.kube.delete(CONFIG_MAPS, key);
  await write(at, "a");
  await replaced;
  const gone = cache.waitForAbsence(key, undefined, soon());
  await at.kube.delete(CONFIG_MAPS, key);
  await gone;
});

Deno.test("Cache.onChange() reports every change in order, with the object before and after", async () => {
  await using at = await workspace(provider, "kube-cache");
  await write(at, "a", "a", "1");
  const failures: unknown[] = [];
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)), {
    reports: { failed: (error) => failures.push(error) },
  });
  const told: string[] = [];
  const tell = ({ before, after }: Change<ConfigMap>) => {
    const name = (after ?? before)?.metadata.name;
    told.push(`${name}: ${before?.data?.["k"] ?? "-"} → ${after?.data?.["k"] ?? "-"}`);
  };
  cache.onChange(() => {
    throw new Error("a broken listener");
  });
  cache.onChange(tell);
  const stopCounting = cache.onChange(() => counted++);
  let counted = 0;
  await using _ = await running(cache, at.kube);
  stopCounting();
  await write(at, "a", "a", "2");
  await write(at, "b", "a", "1");
  await write(at, "a", "a", "3");
  await at.kube.delete(CONFIG_MAPS, { namespace: at.namespace, name: "a" });
  await write(at, "a", "a", "4");
  await eventually("all changes were reported", () => told.length >= 6);
  assert.deepEqual(told, ["a: - → 1", "a: 1 → 2", "b: - → 1", "a: 2 → 3", "a: 3 → -", "a: - → 4"]);
  assert.equal(counted, 1);
  assert.equal(failures.length, 6);
});

Deno.test("a metadata-only Cache of Secrets holds our labels but no secret data", async () => {
  await using at = await workspace(provider, "kube-cache");
  const { namespace } = at;
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "s",
      namespace,
      labels: { [LABELS.grant]: "g", "example.org/foreign": "marker-label" },
      annotations: { "iam.xbind.io/note": "n", "example.org/foreign": "marker-annotation" },
    },
    stringData: { password: "marker-data" },
  };
  // kubectl apply leaves an annotation that holds the whole Secret.
  const applied = await provider.kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(secret) });
  assert.equal(applied.code, 0, applied.stderr);
  const live = await at.kube.get(SECRETS, { namespace, name: "s" });
  assert.match(
    JSON.stringify(live.metadata.annotations),
    /last-applied-configuration.*marker-data/,
  );

  const cache = new Cache(metadataObjects(SECRETS, { namespace }));
  await using _ = await running(cache, at.kube);
  const { uid, resourceVersion, creationTimestamp } = live.metadata;
  const expected = {
    metadata: {
      name: "s",
      namespace,
      uid,
      resourceVersion,
      creationTimestamp,
      labels: { [LABELS.grant]: "g" },
      annotations: { "iam.xbind.io/note": "n" },
    },
  };
  assert.deepEqual(cache.get({ namespace, name: "s" }), expected);

  const changed = await at.kube.mergePatch(
    SECRETS,
    { namespace, name: "s" },
    { metadata: { resourceVersion: resourceVersion ?? "" }, stringData: { more: "marker-more" } },
    cli,
  );
  const isChanged = ({ metadata }: typeof expected) =>
    metadata.resourceVersion === changed.metadata.resourceVersion;
  const seen = await cache.waitFor(
    { namespace, name: "s" },
    isChanged as (object: { metadata: object }) => boolean,
    soon(),
  );
  assert.doesNotMatch(JSON.stringify(seen), /marker/);
  await sameAsLive(cache, at.kube, SECRETS, { namespace });
});

Deno.test("Cache skips an object that it cannot read, and reports the error", async () => {
  await using at = await workspace(provider, "kube-cache");
  for (const name of ["a", "b", "c"]) await write(at, name, "a", name === "b" ? "bad" : "good");
  const plain = wholeObjects(CONFIG_MAPS, selection(at.namespace));
  const source: FollowSource<ConfigMap> = {
    ...plain,
    decode: (item) => {
      const object = plain.decode(item);
      if (object.data?.["k"] === "bad") throw new Error(`${object.metadata.name} is bad`);
      return object;
    },
  };
  const failures: string[] = [];
  const cache = new Cache(source, { reports: { failed: (error) => failures.push(`${error}`) } });
  await using _ = await running(cache, at.kube);
  assert.deepEqual(names(cache.values()), ["a", "c"]);
  assert.deepEqual(failures, ["Error: b is bad"]);
  const key = { namespace: at.namespace, name: "b" };

  await write(at, "b", "a", "good");
  await cache.waitFor(key, () => true, soon());
  await write(at, "b", "a", "bad");
  await cache.waitForAbsence(key, undefined, soon());
  await at.kube.delete(CONFIG_MAPS, key);
  await write(at, "d", "a", "good");
  await cache.waitFor({ ...key, name: "d" }, () => true, soon());
  assert.deepEqual(names(cache.values()), ["a", "c", "d"]);
  assert.deepEqual(failures, ["Error: b is bad", "Error: b is bad"]);
});

Deno.test("Cache.whenSynced() rejects when its signal aborts before the first list", async () => {
  await using at = await workspace(provider, "kube-cache");
  const cache = new Cache(wholeObjects(CONFIG_MAPS, selection(at.namespace)));
  await assert.rejects(cache.whenSynced(AbortSignal.timeout(20)), /TimeoutError/);
  assert.equal(cache.hasSynced, false);
  await using _ = await running(cache, at.kube);
  await cache.whenSynced();
});
