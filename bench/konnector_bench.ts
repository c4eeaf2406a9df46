import { eventually } from "../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { CRDS } from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { wholeObjects } from "../common/kube/follow.ts";
import { crdFor, customType } from "../tests/support/planes/issuer_samples.ts";
import { running } from "../tests/support/planes/kube.ts";
import { type Bound, KonnectorWorld } from "../tests/support/worlds/konnector_world.ts";
import type { Instance } from "../tests/support/worlds/two_sides.ts";
import { timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";

const MANAGER = FIELD_MANAGERS.cli;
/** How many objects are made at once. */
export const IN_FLIGHT = 32;
/** About 2 kB, as objects of real services have. */
const PADDING = "x".repeat(1_500);

/** A world with one bound API, and what both sides show of it. */
export interface KonnectorBench extends AsyncDisposable {
  readonly world: KonnectorWorld;
  readonly bound: Bound;
  readonly objects: Cache<Instance>;
  readonly copies: Cache<Instance>;
  /** The same API under a name that is not bound, for the raw client. */
  readonly raw: Pick<Bound, "type" | "namespace">;
}

/** Starts a provider and a consumer without proxies, and binds one API. */
export async function startBench(): Promise<KonnectorBench> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await KonnectorWorld.startDirect());
  const bound = await world.bind("bench");
  const raw = await defineRaw(world, bound);
  const objects = new Cache(wholeObjects(bound.type));
  const copies = new Cache(wholeObjects(bound.type));
  stack.use(await running(objects, world.consumer.kube));
  stack.use(await running(copies, world.provider.kube));
  // The first object of a namespace costs one more call.
  await world.create(bound, "first");
  await world.onProvider(bound.type, { namespace: bound.namespace, name: "first" });
  const kept = stack.move();
  return { world, bound, raw, objects, copies, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function defineRaw(
  world: KonnectorWorld,
  { namespace }: Bound,
): Promise<KonnectorBench["raw"]> {
  const api = "raws.bench.example.org";
  for (const { kube } of [world.consumer, world.provider]) {
    await kube.create(CRDS, crdFor(api, {}), MANAGER);
    await eventually(`${api} is served`, () => kube.list(customType(api)).then(() => true));
  }
  return { type: customType(api) as Bound["type"], namespace };
}

/** The content of an object of about 2 kB. */
export const content = (size: number) => ({ spec: { size, text: PADDING } });

/** Measures one apply of an object of the same size, as a raw client makes it. */
export async function rawApply(
  kube: KubeClient,
  { type, namespace }: KonnectorBench["raw"],
  i: number,
): Promise<number> {
  const metadata = { name: "raw", namespace };
  const apiVersion = `${type.group}/${type.version}`;
  const object = { apiVersion, kind: type.kind, metadata, ...content(i) } as Instance;
  return await timed(() => kube.apply(type, object, MANAGER));
}

/** Creates objects on the consumer, many at once. */
export async function fill(
  { world, bound }: Pick<KonnectorBench, "world" | "bound">,
  count: number,
  prefix: string,
): Promise<void> {
  await inTurn(count, IN_FLIGHT, (i) => world.create(bound, `${prefix}-${i}`, content(i)));
}
