import assert from "node:assert/strict";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CONFIG_MAPS, type ConfigMap, type Grant, GRANTS } from "../../../common/api/resources.ts";
import { installCrds } from "../../../common/kube/crds.ts";
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  KubeError,
} from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, uniqueName, workspace } from "../../support/planes/kube.ts";

const { cli, gateway, issuer, reaper } = FIELD_MANAGERS;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const grant = (name: string): Grant => ({
  apiVersion: "iam.xbind.io/v1alpha1",
  kind: "Grant",
  metadata: { name },
  spec: {
    identity: { subject: "https://idp.example.org#kube-client" },
    exportName: "kube-client",
    apis: [{ name: "widgets.example.org" }],
  },
});

const conditionOf = (type: string, status: "True" | "False") => ({
  type,
  status,
  reason: "AsExpected",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
});

/** The API server sets a version on every object that it returns. */
const versionOf = (object: ConfigMap | Grant): string => object.metadata.resourceVersion ?? "";

Deno.test("KubeClient reads a created object, and reports a missing one", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const created = await kube.create(CONFIG_MAPS, configMap(namespace, "a", { k: "v" }), cli);
  assert.deepEqual(created.data, { k: "v" });
  const key = { namespace, name: "a" };
  assert.deepEqual(await kube.get(CONFIG_MAPS, key), created);
  assert.deepEqual(await kube.find(CONFIG_MAPS, key), created);
  assert.equal(await kube.find(CONFIG_MAPS, { namespace, name: "b" }), undefined);
  await assert.rejects(
    kube.get(CONFIG_MAPS, { namespace, name: "b" }),
    (error) =>
      isNotFound(error) && error instanceof KubeError && error.status === 404 &&
      error.message === `Cannot get configmaps "${namespace}/b": configmaps "b" not found`,
  );
});

Deno.test("KubeClient.create() fails when the name is taken", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  await kube.create(CONFIG_MAPS, configMap(namespace, "a", { k: "first" }), cli);
  await assert.rejects(
    kube.create(CONFIG_MAPS, configMap(namespace, "a", { k: "second" }), cli),
    (error) => isAlreadyExists(error) && error instanceof KubeError && error.status === 409,
  );
  assert.deepEqual((await kube.get(CONFIG_MAPS, { namespace, name: "a" })).data, { k: "first" });
});

Deno.test("KubeClient.list() returns every object once, over several pages", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const names = Array.from({ length: 1_203 }, (_, index) => `n${index}`).toSorted();
  await Promise.all(
    names.map((name) => kube.create(CONFIG_MAPS, configMap(namespace, name), cli)),
  );
  await kube.create(CONFIG_MAPS, configMap(namespace, "labelled", {}, { team: "a" }), cli);
  await using proxy = await FaultProxy.start(provider);
  using through = await connect(await proxy.kubeconfig());

  const listed = await through.kube.list(CONFIG_MAPS, { namespace });
  const ours = listed.filter(({ metadata }) => metadata.name.startsWith("n"));
  assert.deepEqual(ours.map(({ metadata }) => metadata.name).toSorted(), names);
  assert.ok(listed.every(({ apiVersion, kind }) => apiVersion === "v1" && kind === "ConfigMap"));
  assert.equal(proxy.arrivals.length, 3);

  const byLabel = await kube.list(CONFIG_MAPS, { namespace, labelSelector: "team in (a, b)" });
  assert.deepEqual(byLabel.map(({ metadata }) => metadata.name), ["labelled"]);
  const byField = await kube.list(CONFIG_MAPS, { namespace, fieldSelector: "metadata.name=n7" });
  assert.deepEqual(byField.map(({ metadata }) => metadata.name), ["n7"]);
});

Deno.test("KubeClient.update() replaces the current version, and refuses an older one", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const first = await kube.create(CONFIG_MAPS, configMap(namespace, "a", { k: "1" }), cli);
  const second = await kube.update(CONFIG_MAPS, { ...first, data: { k: "2" } }, cli);
  assert.deepEqual(second.data, { k: "2" });
  await assert.rejects(
    kube.update(CONFIG_MAPS, { ...first, data: { k: "3" } }, cli),
    (error) => isConflict(error) && error instanceof KubeError && error.status === 409,
  );
  assert.deepEqual(await kube.get(CONFIG_MAPS, { namespace, name: "a" }), second);
});

Deno.test("KubeClient.apply() creates and changes objects, and takes over fields of other managers", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const applied = (data: Record<string, string>, manager: typeof cli | typeof gateway) =>
    kube.apply(CONFIG_MAPS, configMap(namespace, "a", data), manager);
  assert.deepEqual((await applied({ k: "1", gone: "soon" }, cli)).data, { k: "1", gone: "soon" });
  assert.deepEqual((await applied({ k: "2" }, cli)).data, { k: "2" });
  assert.deepEqual((await applied({ other: "x" }, gateway)).data, { k: "2", other: "x" });
  assert.deepEqual((await applied({ k: "3", other: "x" }, gateway)).data, { k: "3", other: "x" });
  const unchanged = await applied({ k: "3", other: "x" }, gateway);
  assert.equal(versionOf(await applied({ k: "3", other: "x" }, gateway)), versionOf(unchanged));
});

Deno.test("KubeClient keeps spec, status and the conditions of two managers apart", async (t) => {
  using connected = await connect(provider);
  const { kube } = connected;
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "epoch",
  });
  const signal = AbortSignal.timeout(60_000);
  await installCrds({ kube, log, version: "0.0.0" }, serviceCrds(), signal);
  const name = uniqueName("kube-client");
  const { apiVersion, kind, metadata, spec } = grant(name);
  const statusOf = (status: Grant["status"]) =>
    ({ apiVersion, kind, metadata, status }) as unknown as Grant;
  await kube.apply(GRANTS, grant(name), gateway);
  try {
    await t.step("applyStatus() does not change the spec", async () => {
      const ready = { namespace: "boundary", conditions: [conditionOf("Ready", "True")] };
      const after = await kube.applyStatus(GRANTS, statusOf(ready), issuer);
      assert.deepEqual(after.status, ready);
      assert.deepEqual(after.spec, spec);
      assert.equal(after.metadata.generation, 1);
    });
    await t.step("applyStatus() does not change another manager's condition", async () => {
      const stale = { conditions: [conditionOf("Stale", "False")] };
      const { status } = await kube.applyStatus(GRANTS, statusOf(stale), reaper);
      assert.equal(status?.namespace, "boundary");
      assert.deepEqual(status?.conditions?.map(({ type }) => type), ["Ready", "Stale"]);
    });
    await t.step("apply() does not change the status", async () => {
      const changed = {
        ...grant(name),
        spec: { ...spec, apis: [{ name: "gadgets.example.org" }] },
      };
      const after = await kube.apply(GRANTS, { ...changed, status: {} }, gateway);
      assert.deepEqual(after.spec.apis, [{ name: "gadgets.example.org" }]);
      assert.equal(after.status?.conditions?.length, 2);
    });
  } finally {
    await kube.delete(GRANTS, { name });
  }
});

Deno.test("KubeClient.mergePatch() changes only the version that it names", async () => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const key = { namespace, name: "a" };
  const first = await kube.create(CONFIG_MAPS, configMap(namespace, "a", { k: "1" }), cli);
  const patch = (resourceVersion: string, value: string) =>
    kube.mergePatch(CONFIG_MAPS, key, {
      metadata: { resourceVersion, annotations: { note: value } },
      data: { k: null, [value]: value },
    }, cli);
  const second = await patch(versionOf(first), "right");
  assert.deepEqual(second.data, { right: "right" });
  assert.deepEqual(second.metadata.annotations, { note: "right" });
  await assert.rejects(patch(versionOf(first), "stale"), isConflict);
  assert.deepEqual(await kube.get(CONFIG_MAPS, key), second);
});

Deno.test("KubeClient.delete() deletes only while its preconditions hold", async (t) => {
  await using at = await workspace(provider, "kube-client");
  const { kube, namespace } = at;
  const key = { namespace, name: "a" };
  const first = await kube.create(CONFIG_MAPS, configMap(namespace, "a"), cli);
  const present = await kube.update(CONFIG_MAPS, { ...first, data: { k: "2" } }, cli);
  const { uid = "", resourceVersion = "" } = present.metadata;
  const otherUid = crypto.randomUUID();
  const refused = [
    { uid: otherUid },
    { resourceVersion: versionOf(first) },
    { uid, resourceVersion: versionOf(first) },
    { uid: otherUid, resourceVersion },
  ];
  for (const preconditions of refused) {
    const fields = Object.keys(preconditions).join(" and ");
    await t.step(`refuses a wrong ${fields}`, async () => {
      await assert.rejects(kube.delete(CONFIG_MAPS, key, preconditions), isConflict);
      assert.deepEqual(await kube.get(CONFIG_MAPS, key), present);
    });
  }
  await t.step("deletes with the right uid and resourceVersion", async () => {
    await kube.delete(CONFIG_MAPS, key, { uid, resourceVersion });
    assert.equal(await kube.find(CONFIG_MAPS, key), undefined);
  });
  await t.step("fails when the object is gone", async () => {
    await assert.rejects(kube.delete(CONFIG_MAPS, key, { uid }), isNotFound);
  });
});
