import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  type Binding,
  BINDINGS,
  CLUSTER_BINDINGS,
  type ClusterBinding,
  condition,
  CONNECTIONS,
  CRDS,
  type CustomResourceDefinition,
  isReadyFor,
  type KubeObject,
  LEASES,
  SECRETS,
} from "../../../common/api/resources.ts";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { KillMatrix, whatText } from "../../support/faults/kill_matrix.ts";
import { KONNECTOR_WRITES } from "../../support/faults/konnector_write_kinds.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { keyIn } from "../../support/worlds/konnector_steps.ts";
import {
  bindingIn,
  type Bound,
  connectionOf,
  KonnectorWorld,
  secretOf,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { DIRECTIONS, RelatedSteps, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { consumer, provider } = world;
const related = new RelatedSteps(world);
const LABEL = "crash";

/** Starts a konnector whenever one was killed, as Kubernetes does, until it is disposed. */
function supervise(matrix: KillMatrix): AsyncDisposable {
  let isOver = false;
  const run = async () => {
    while (true) {
      await world.konnector.ended();
      if (isOver) return;
      await world.restart();
      matrix.open(); // now no request of the killed process is on its way
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await world.kill();
      await running;
    },
  };
}

/** Lets an API and its objects live from bind to unbind, with every write on the way. */
async function live(bound: Bound, matrix: KillMatrix): Promise<void> {
  const { type, name, api, namespace } = bound;
  const at = (object: string) => keyIn(bound, object);
  await world.apply(bound.bundle);
  await world.ready(bound);

  await world.create(bound, "life");
  await world.onProvider(type, at("life"));
  await world.edit("consumer", bound, "life", { spec: { size: 2 } });
  await world.onProvider(type, at("life"), ({ spec }) => spec?.["size"] === 2);
  await world.edit("provider", bound, "life", { status: { phase: "Up" } }, "status");
  await world.onConsumer(type, at("life"), ({ status }) => status?.["phase"] === "Up");

  await copyBothWays(bound);

  await conflict(bound, "taken");
  await provider.kube.delete(type, at("taken"));
  await world.edit("consumer", bound, "taken", { spec: { size: 3 } });
  await world.onConsumer(type, at("taken"), ({ metadata }) => metadata.annotations === undefined);

  // A mark is written once, and its Event follows: each kill at an Event needs its own conflict.
  for (const when of ["before", "after"]) {
    await conflict(bound, `${when}-event`);
    await eventually(`a kill ${when} an Event`, () => !matrix.missing.includes(`${when} Event`));
    await consumer.kube.delete(type, at(`${when}-event`));
    await provider.kube.delete(type, at(`${when}-event`));
    await world.gone(type, at(`${when}-event`));
  }

  const binding = bound.bundle[2] as ClusterBinding;
  const spec = { ...binding.spec, conflictPolicy: "Adopt" };
  await world.apply([{ ...binding, spec } as KubeObject]);
  await world.onConsumer(CLUSTER_BINDINGS, { name }, isReadyFor(2));
  await world.createForeign(bound, "adopted");
  await world.create(bound, "adopted", { spec: { size: 4 } });
  await world.onProvider(type, at("adopted"), ({ spec }) => spec?.["size"] === 4);

  const column = { name: "Size", type: "integer", jsonPath: ".spec.size" };
  await provider.edit(CRDS, { name: api }, ({ spec }: CustomResourceDefinition) => ({
    spec: {
      versions: spec.versions.map((each) => ({ ...each, additionalPrinterColumns: [column] })),
    },
  }));
  await world.onConsumer(CRDS, { name: api }, ({ spec }) => {
    return spec.versions[0]?.additionalPrinterColumns !== undefined;
  });

  await consumer.kube.delete(type, at("life"));
  await world.gone(type, at("life"));
  await showError(bound);
  await bindNamespace(bound);
  await handOver(bound);
  assert.deepEqual(await provider.kube.list(type, { namespace }), []);
  await isGone(consumer.kube, CRDS, { name: api });
}

/** Creates an object with a wish that is not understood, and then mends it. */
async function showError(bound: Bound): Promise<void> {
  const [name, wish] = ["wrong", ANNOTATIONS.syncPolicy];
  const isShown = ({ metadata }: KubeObject) =>
    metadata.annotations?.[ANNOTATIONS.syncError] !== undefined;
  await world.create(bound, name, {}, { annotations: { [wish]: "Sometimes" } });
  const { metadata } = await world.onConsumer(bound.type, keyIn(bound, name), isShown);
  const { [wish]: _, ...annotations } = metadata.annotations ?? {};
  await world.edit("consumer", bound, name, { "metadata/annotations": annotations });
  await world.onConsumer(bound.type, keyIn(bound, name), (found) => !isShown(found));
  await world.onProvider(bound.type, keyIn(bound, name));
}

/** Binds one namespace beside the ClusterBinding, and unbinds it. */
async function bindNamespace(bound: Bound): Promise<void> {
  const { name, namespace } = bound;
  await consumer.kube.create(
    BINDINGS,
    bindingIn(namespace, bound) as Binding,
    FIELD_MANAGERS.installer,
  );
  const at = { namespace, name };
  await world.onConsumer(BINDINGS, at, (found) => condition(found, "Ready") !== undefined);
  await consumer.kube.delete(BINDINGS, at);
  await isGone(consumer.kube, BINDINGS, at);
}

/** Lets another Connection bind and take over the API, and ends both. */
async function handOver(bound: Bound): Promise<void> {
  const { name, api } = bound;
  const heir = { name: `${name}-heir` };
  const { spec, ...connection } = connectionOf(bound);
  const wishes = { autoBind: true, schema: { updatePolicy: "Once" } };
  await world.apply([
    { ...connection, metadata: heir, spec: { ...spec, ...wishes } } as KubeObject,
  ]);
  await world.hasCondition(CLUSTER_BINDINGS, heir, "Ready", "False", "APIBoundElsewhere");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await world.onConsumer(CRDS, { name: api }, ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.connection] === heir.name;
  });
  await world.isReady(CLUSTER_BINDINGS, heir);
  for (const each of [name, heir.name]) {
    await consumer.kube.delete(CONNECTIONS, { name: each });
    await isGone(consumer.kube, CONNECTIONS, { name: each });
  }
  assert.equal(await consumer.kube.find(CLUSTER_BINDINGS, heir), undefined);
}

/** Creates, changes and deletes a Secret on each side, and waits for its copy on the other. */
async function copyBothWays({ namespace }: Bound): Promise<void> {
  for (const [direction, from, to] of DIRECTIONS) {
    // The consumer has no such namespace, and the provider has none of the bound one.
    const place = direction === "FromProvider" ? uniqueName("crash") : namespace;
    const key = { namespace: place, name: LABEL };
    await related.put(from, "secrets", key, "one", { labels: [LABEL] });
    await related.has(to, "secrets", key, "one");
    await related.write(from, "secrets", key, "two");
    await related.has(to, "secrets", key, "two");
    await related.delete(from, "secrets", key);
    await related.gone(to, "secrets", key);
  }
}

/** Creates an object whose name is taken on the provider, and waits until it is marked. */
async function conflict(bound: Bound, name: string): Promise<void> {
  await world.createForeign(bound, name);
  await world.create(bound, name);
  await world.onConsumer(bound.type, keyIn(bound, name), ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.conflict] === "ForeignObjectExists";
  });
}

/** The writes in an audit log, as rows name them. */
async function auditedWrites(plane: KonnectorWorld["consumerPlane"]): Promise<string[]> {
  const events = await auditEvents(
    plane,
    ({ verb, stage, userAgent, objectRef }) =>
      stage === "ResponseComplete" && ["create", "update", "patch", "delete"].includes(verb) &&
      (userAgent?.startsWith("xbind-konnector/") ?? false) &&
      !objectRef?.resource?.startsWith("selfsubject"),
  );
  const all = events.map(({ verb, objectRef }) =>
    whatText(verb, objectRef?.resource, objectRef?.subresource)
  );
  return [...new Set(all)];
}

Deno.test("after a kill at any write, the next konnector finishes the work", async (t) => {
  const bound = await world.bind("crash", {
    isApplied: false,
    relatedResources: DIRECTIONS.map(([direction]) => rule("secrets", direction, { label: LABEL })),
  });
  const { grant } = bound;
  const matrix = new KillMatrix(KONNECTOR_WRITES, () => world.konnector.signal("SIGKILL"));
  world.consumerProxy.faults = matrix.faults("consumer", consumer.kube);
  world.providerProxy.faults = matrix.faults("provider", provider.kube);
  {
    await using _ = supervise(matrix);
    await t.step("a whole life from bind to unbind", () => live(bound, matrix));
  }
  await t.step("nothing is left", async () => {
    const leases = await provider.kube.list(LEASES, { namespace: boundaryOf(grant) });
    assert.deepEqual(leases, [], "a heartbeat is left");
    const { metadata } = await consumer.kube.get(SECRETS, secretOf(bound).metadata);
    assert.equal(metadata.finalizers, undefined);
  });
  await t.step("each write was cut off before and after", () => {
    assert.deepEqual(matrix.missing, []);
  });
  await t.step("no write took effect twice", () => assert.deepEqual(matrix.repeated, []));
  await t.step("every write has a row", async () => {
    assert.deepEqual([...matrix.unnamed], []);
    for (const side of ["consumer", "provider"] as const) {
      const plane = side === "consumer" ? world.consumerPlane : world.providerPlane;
      const named = KONNECTOR_WRITES.filter(({ on }) => on === side).map(({ what }) => what);
      const unnamed = (await auditedWrites(plane)).filter((what) => !named.includes(what));
      assert.deepEqual(unnamed, [], `on the ${side}`);
    }
  });
});
