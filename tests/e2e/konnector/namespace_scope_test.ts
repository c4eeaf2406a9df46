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
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start("--issuer-scope=Namespace");
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const EVENTS: ResourceType<KubeObject & { reason?: string; note?: string }> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

const WATCH_MS = 10_000;

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

  await world.create(bound, "out");
  const told = () => consumer.kube.list(EVENTS, { namespace });
  await eventually("an Event tells", async () => (await told()).length > 0);
  await sleep(WATCH_MS);
  const events = await told();
  assert.deepEqual(events.map(({ reason }) => reason), ["Forbidden"]);
  const { metadata } = await consumer.kube.get(type, { namespace, name: "out" });
  assert.equal(metadata.finalizers, undefined);
  assert.equal(metadata.annotations?.[ANNOTATIONS.conflict], undefined);
  const refused = await auditEvents(
    world.providerPlane,
    ({ userAgent, responseStatus }) =>
      (userAgent?.startsWith("xbind-konnector/") ?? false) && responseStatus?.code === 403,
  );
  assert.ok(refused.length <= 2, refused.map(({ requestURI }) => requestURI).join("\n"));

  for (const each of [namespace, boundary]) {
    for (const { metadata } of await consumer.kube.list(type, { namespace: each })) {
      await consumer.kube.delete(type, { namespace: each, name: metadata.name });
    }
  }
  await world.gone(type, { namespace: boundary, name: "in" });
  await world.gone(type, { namespace, name: "out" });
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
