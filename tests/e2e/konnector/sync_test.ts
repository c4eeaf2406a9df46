import assert from "node:assert/strict";
import { ANNOTATIONS, LABELS, SYNCER_FINALIZER } from "../../../common/api/names.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

Deno.test("an object travels up, its status travels down", async () => {
  const bound = await world.bind("loop");
  const { type, namespace } = bound;
  const created = await world.create(bound, "a", { spec: { size: 3 } });
  const copy = await world.onProvider(type, { namespace, name: "a" });
  assert.deepEqual(copy.spec, { size: 3 });
  assert.equal(copy.metadata.labels?.[LABELS.managed], "true");
  assert.equal(copy.metadata.annotations?.[ANNOTATIONS.consumerObjectUid], created.metadata.uid);
  await world.edit("provider", bound, "a", { status: { phase: "Ready" } }, "status");
  const back = await world.onConsumer(
    type,
    { namespace, name: "a" },
    ({ status }) => status?.["phase"] === "Ready",
  );
  assert.deepEqual(back.metadata.finalizers, [SYNCER_FINALIZER]);
  await world.consumer.kube.delete(type, { namespace, name: "a" });
  await world.gone(type, { namespace, name: "a" });
});
