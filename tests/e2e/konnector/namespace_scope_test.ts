import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { aWhile } from "../../support/worlds/konnector_steps.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { DIRECTIONS, RelatedSteps, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start("--issuer-scope=Namespace");
const { consumer, provider } = world;
const related = new RelatedSteps(world);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const EVENTS: ResourceType<KubeObject & { reason?: string; note?: string }> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

const WATCH_MS = everyDayOrSoak(10_000, 60_000);
const OUTSIDE = ["out-a", "out-b", "out-c", "out-d", "out-e"];

/** Lists the calls of konnectors that the provider refused so far. */
const refusedCalls = async (): Promise<string[]> => {
  const events = await auditEvents(
    world.providerPlane,
    ({ userAgent, responseStatus }) =>
      (userAgent?.startsWith("xbind-konnector/") ?? false) &&
      responseStatus?.code === 403,
  );
  return events.map(({ verb, requestURI }) => `${verb} ${requestURI}`);
};

Deno.test("a credential for one namespace syncs that namespace only", async () => {
  const bound = await world.bind("narrow");
  const { name, type, namespace, grant } = bound;
  const boundary = boundaryOf(grant);
  const binding = await world.hasCondition(CLUSTER_BINDINGS, { name }, "PermissionDenied", "True");
  assert.equal(condition(binding, "Ready")?.status, "True");
  assert.match(condition(binding, "PermissionDenied")?.message ?? "", new RegExp(boundary));
  const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: boundary } };
  await consumer.kube.create(NAMESPACES, made, FIELD_MANAGERS.installer);
  await world.create({ type, namespace: boundary }, "in");
  await world.onProvider(type, { namespace: boundary, name: "in" });
  await world.edit(
    "provider",
    { type, namespace: boundary },
    "in",
    { status: { ok: true } },
    "status",
  );
  await world.onConsumer(type, { namespace: boundary, name: "in" }, ({ status }) => !!status);

  for (const name of OUTSIDE) await world.create(bound, name);
  const told = () => consumer.kube.list(EVENTS, { namespace });
  await eventually("Events tell", async () => (await told()).length >= OUTSIDE.length);
  await sleep(WATCH_MS);
  const events = await told();
  assert.deepEqual(events.map(({ reason }) => reason), OUTSIDE.map(() => "Forbidden"));
  for (const name of OUTSIDE) {
    const { metadata } = await consumer.kube.get(type, { namespace, name });
    assert.equal(metadata.finalizers, undefined);
    assert.equal(metadata.annotations?.[ANNOTATIONS.conflict], undefined);
  }
  const refused = await refusedCalls();
  assert.ok(refused.length <= 2, refused.join("\n"));

  for (const each of [namespace, boundary]) {
    for (const { metadata } of await consumer.kube.list(type, { namespace: each })) {
      await consumer.kube.delete(type, { namespace: each, name: metadata.name });
    }
  }
  await world.gone(type, { namespace: boundary, name: "in" });
  for (const name of OUTSIDE) await world.gone(type, { namespace, name });
});

Deno.test("related Secrets are copied within the boundary only", async () => {
  const label = uniqueName("label");
  const { name, namespace, grant } = await world.bind("bounded", {
    relatedResources: DIRECTIONS.map(([direction]) => rule("secrets", direction, { label })),
  });
  const boundary = boundaryOf(grant);
  for (const [, from] of DIRECTIONS) {
    for (const place of [boundary, namespace]) {
      await related.put(from, "secrets", { namespace: place, name: from }, from, {
        labels: [label],
      });
    }
  }
  for (const [, from, to] of DIRECTIONS) {
    await related.has(to, "secrets", { namespace: boundary, name: from }, from);
  }
  await aWhile();
  for (const [, from, to] of DIRECTIONS) {
    assert.equal(await related.find(to, "secrets", { namespace, name: from }), undefined);
  }
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  for (const [, from, to] of DIRECTIONS) {
    assert.equal(await related.find(to, "secrets", { namespace: boundary, name: from }), undefined);
    await related.has(from, "secrets", { namespace: boundary, name: from }, from);
  }
});

Deno.test("a cluster-scoped API is Forbidden", async () => {
  const bound = await world.bind("wide", {
    isApplied: false,
    crd: (crd) => ({ ...crd, spec: { ...crd.spec, scope: "Cluster" } }),
  });
  const { name, type } = bound;
  await world.apply(bound.bundle);
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "Forbidden");
  await world.create(bound, "a");
  await sleep(1_000);
  assert.equal(await provider.kube.find(type, { name: "a" }), undefined);
});
