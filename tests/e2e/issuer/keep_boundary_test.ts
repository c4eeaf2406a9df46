import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, NAMESPACES } from "../../../common/api/resources.ts";
import { keepBoundary } from "../../../server/issuer/ensure.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { configMap, uniqueName, workspace } from "../../support/planes/kube.ts";

// Before any test, so that no test is charged with processes it does not end.
const provider = await sharedProvider();

const { reaper, cli } = FIELD_MANAGERS;
const patience = () => AbortSignal.timeout(20_000);

Deno.test("keepBoundary() removes the mark from a boundary, and tells whether it stays", async (t) => {
  await using at = await workspace(provider, "keep");
  const { kube, namespace: name } = at;
  const metadata = async () => (await kube.get(NAMESPACES, { name })).metadata;
  const keep = () => keepBoundary(kube, name, patience());

  await t.step("one without a mark is only read", async () => {
    const { resourceVersion } = await metadata();
    assert.equal(await keep(), true);
    assert.equal((await metadata()).resourceVersion, resourceVersion);
  });
  await t.step("one with a mark loses it", async () => {
    const { resourceVersion = "" } = await metadata();
    const annotations = { [ANNOTATIONS.reapBoundary]: "uid" };
    const patch = { metadata: { resourceVersion, annotations } };
    await kube.mergePatch(NAMESPACES, { name }, patch, reaper);
    assert.equal(await keep(), true);
    assert.equal((await metadata()).annotations?.[ANNOTATIONS.reapBoundary], undefined);
  });
  await t.step("one that terminates does not stay", async () => {
    const held = configMap(name, "held");
    const finalizers = ["example.org/held"];
    const metadata = { ...held.metadata, finalizers };
    await kube.create(CONFIG_MAPS, { ...held, metadata }, cli);
    await kube.delete(NAMESPACES, { name });
    assert.equal(await keep(), false);
    await eventually("the namespace can go", async () => {
      const { metadata: { resourceVersion = "" } } = await kube.get(CONFIG_MAPS, held.metadata);
      const patch = { metadata: { resourceVersion, finalizers: null } };
      return await kube.mergePatch(CONFIG_MAPS, held.metadata, patch, cli);
    });
  });
  await t.step("nor does one that is not there", async () => {
    assert.equal(await keepBoundary(kube, uniqueName("keep"), patience()), false);
  });
});
