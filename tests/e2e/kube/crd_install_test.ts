import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CRDS, type CustomResourceDefinition, EXPORTS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { contains, installCrds } from "../../../common/kube/crds.ts";
import { isForbidden } from "../../../common/kube/kube_error.ts";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { dropCrds } from "../../support/planes/ask_etcd.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { connect, TEST_USER_AGENT, uniqueName } from "../../support/planes/kube.ts";
import { eventsDuring } from "../../support/planes/requests_during.ts";

const NAMES = serviceCrds().map(({ metadata }) => metadata.name).sort();
const EXPORTS_CRD = { name: "exports.catalog.xbind.io" };
const VERSION = "1.2.3";

/** Installs the CRDs as a backend of this version does; returns the logged messages. */
async function install(
  kube: KubeClient,
  version = VERSION,
  crds = serviceCrds(),
): Promise<string[]> {
  const lines: string[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "epoch",
    write: (line) => lines.push(line),
  });
  await installCrds({ kube, log, version }, crds, AbortSignal.timeout(60_000));
  return lines.map((line) => {
    const { msg, crd } = JSON.parse(line);
    return `${msg} ${crd}`;
  }).sort();
}

/** Lists the writes of our client during `run`, from the audit log, as `verb resource/name`. */
async function writesDuring(plane: ControlPlane, run: (kube: KubeClient) => Promise<unknown>) {
  const userAgent = uniqueName(TEST_USER_AGENT);
  using connected = await connect(plane, { userAgent });
  const { kube } = connected;
  const [events = []] = await eventsDuring([{ plane, kube }], () => run(kube));
  return events
    .filter((event) => event.userAgent === userAgent)
    .filter(({ verb }) => !["get", "list", "watch"].includes(verb))
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name}`).sort();
}

const isEstablished = ({ status }: CustomResourceDefinition): boolean =>
  status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ??
    false;

const annotationsOf = async (kube: KubeClient) =>
  (await kube.get(CRDS, EXPORTS_CRD)).metadata.annotations ?? {};

/** Edits the Exports' CRD as an administrator may. */
async function edit(plane: ControlPlane, patch: object | object[]): Promise<void> {
  const type = Array.isArray(patch) ? "json" : "merge";
  const args = ["patch", "crd", EXPORTS_CRD.name, `--type=${type}`, "-p", JSON.stringify(patch)];
  const { code, stderr } = await plane.kubectl(args);
  assert.equal(code, 0, stderr);
}

const DESCRIPTION = "/spec/versions/0/schema/openAPIV3Schema/description";
const EXTRA_FIELD = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra";

Deno.test("installCrds() installs the CRDs of its version, and writes only differences", async (t) => {
  await using plane = await ownPlane({ name: "crd-install", auditLog: true });
  using connected = await connect(plane);
  const { kube } = connected;
  const installed = NAMES.map((name) => `installed CRD ${name}`);
  const patched = NAMES.map((name) => `patch customresourcedefinitions/${name}`);

  await t.step("creates all CRDs, and waits until they are served", async () => {
    const writes = await writesDuring(plane, async (client) => {
      assert.deepEqual(await install(client), installed);
      assert.deepEqual(await client.list(EXPORTS), []);
    });
    assert.deepEqual(writes, patched);
    const live = await kube.list(CRDS);
    assert.deepEqual(live.map(({ metadata }) => metadata.name).sort(), NAMES);
    assert.ok(live.every(isEstablished));
    for (const crd of serviceCrds()) {
      const stored = await kube.get(CRDS, { name: crd.metadata.name });
      assert.ok(contains(stored, crd));
      assert.equal(stored.metadata.annotations?.[ANNOTATIONS.crdVersion], VERSION);
    }
  });
  await t.step("writes nothing when all CRDs are up to date", async () => {
    const writes = await writesDuring(plane, async (client) => {
      assert.deepEqual(await install(client), []);
    });
    assert.deepEqual(writes, []);
  });
  await t.step("repairs only the CRD that was edited by hand", async () => {
    const before = await kube.get(CRDS, EXPORTS_CRD);
    await edit(plane, [{ op: "replace", path: DESCRIPTION, value: "edited" }]);
    const writes = await writesDuring(plane, (client) => install(client));
    assert.deepEqual(writes, [`patch customresourcedefinitions/${EXPORTS_CRD.name}`]);
    assert.deepEqual((await kube.get(CRDS, EXPORTS_CRD)).spec, before.spec);
  });
  await t.step("keeps labels and annotations of others", async () => {
    const metadata = { labels: { "example.org/l": "1" }, annotations: { "example.org/a": "1" } };
    await edit(plane, { metadata });
    assert.deepEqual(await writesDuring(plane, (client) => install(client)), []);
    assert.ok(contains(await kube.get(CRDS, EXPORTS_CRD), { metadata }));
  });
  await t.step("removes a field that only an older version had", async () => {
    const older = serviceCrds().filter(({ metadata }) => metadata.name === EXPORTS_CRD.name);
    const { spec } = older[0]?.spec.versions[0]?.schema?.openAPIV3Schema?.["properties"] as {
      spec: { properties: Record<string, object> };
    };
    spec.properties["extra"] = { type: "string", description: "Once upon a time" };
    await install(kube, VERSION, older);
    const has = async () => JSON.stringify(await kube.get(CRDS, EXPORTS_CRD)).includes("Once upon");
    assert.equal(await has(), true);
    const writes = await writesDuring(plane, (client) => install(client));
    assert.deepEqual(writes, [`patch customresourcedefinitions/${EXPORTS_CRD.name}`]);
    assert.equal(await has(), false);
  });
  await t.step("keeps the CRD of a newer version", async () => {
    const before = await annotationsOf(kube);
    await edit(plane, { metadata: { annotations: { [ANNOTATIONS.crdVersion]: "1.10.0" } } });
    await edit(plane, [{ op: "add", path: EXTRA_FIELD, value: { type: "string" } }]);
    const writes = await writesDuring(plane, async (client) => {
      const lines = await install(client);
      assert.deepEqual(lines, [`kept the CRD of a newer version ${EXPORTS_CRD.name}`]);
    });
    assert.deepEqual(writes, []);
    assert.deepEqual(await annotationsOf(kube), {
      ...before,
      [ANNOTATIONS.crdVersion]: "1.10.0",
    });
  });
  await t.step("updates the CRD once its own version is newer", async () => {
    await writesDuring(plane, (client) => install(client, "1.10.1"));
    assert.equal((await annotationsOf(kube))[ANNOTATIONS.crdVersion], "1.10.1");
  });
  const refusal = (missing: RegExp) => (error: unknown) => {
    assert.ok(error instanceof Error, String(error));
    assert.match(error.message, /^Cannot install the CRDs .*--install-crds=false$/);
    assert.ok(isForbidden(error.cause));
    assert.match(String(error.cause), missing);
    return true;
  };
  await t.step("names the permission that a user without rights lacks", async () => {
    using nobody = await connect(await plane.kubeconfigFor("crd-nobody"));
    const missing =
      /User "crd-nobody" cannot get resource "customresourcedefinitions" in API group "apiextensions/;
    await assert.rejects(install(nobody.kube), refusal(missing));
  });
  await t.step("names the permission that a read-only user lacks", async () => {
    const role = ["clusterrole", "crd-reader", "--verb=get,list,watch", "--resource=crd"];
    const binding = ["clusterrolebinding", "crd-reader", "--clusterrole=crd-reader"];
    await plane.kubectl(["create", ...role]);
    await plane.kubectl(["create", ...binding, "--user=crd-reader"]);
    await edit(plane, [{ op: "replace", path: DESCRIPTION, value: "edited" }]);
    using reader = await connect(await plane.kubeconfigFor("crd-reader"));
    const missing = /Cannot apply customresourcedefinitions "exports\..* cannot patch resource/;
    await assert.rejects(install(reader.kube, "1.10.1"), refusal(missing));
  });

  await t.step("succeeds in several backends at once", async () => {
    await dropCrds(plane, kube);
    await Promise.all([1, 2, 3].map(async () => {
      using backend = await connect(plane);
      await install(backend.kube);
      assert.deepEqual(await backend.kube.list(EXPORTS), []);
    }));
  });
});
