import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, NAMESPACES } from "../../../common/api/resources.ts";
import { keepBoundary } from "../../../server/issuer/ensure.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { configMap, uniqueName, workspace } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const { reaper, cli } = FIELD_MANAGERS;
const soon = () => AbortSignal.timeout(20_000);

Deno.test("keepBoundary() removes the reaper's mark, and tells whether the boundary stays", async (t) => {
  await using at = await workspace(provider, "keep");
  const { kube, namespace: name } = at;
  const metadata = async () => (await kube.get(NAMESPACES, { name })).metadata;
  const keep = () => keepBoundary(kube, name, soon());

  await t.step("it only reads a boundary without a mark", async () => {
    const { resourceVersion } = await metadata();
    assert.equal(await keep(), true);
    assert.equal((await metadata()).resourceVersion, resourceVersion);
  });
  await t.step("it removes the mark", async () => {
    const { resourceVersion = "" } = await metadata();
    const annotations = { [ANNOTATIONS.reapBoundary]: "uid" };
    const patch = { metadata: { resourceVersion, annotations } };
    await kube.mergePatch(NAMESPACES, { name }, patch, reaper);
    assert.equal(await keep(), true);
    assert.equal((await metadata()).annotations?.[ANNOTATIONS.reapBoundary], undefined);
  });
  await t.step("it returns false for a terminating boundary", async () => {
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
  await t.step("it returns false for a missing boundary", async () => {
    assert.equal(await keepBoundary(kube, uniqueName("keep"), soon()), false);
  });
});
