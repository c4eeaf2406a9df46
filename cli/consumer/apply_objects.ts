import type { KubeObject, ResourceType } from "../../common/api/resources.ts";
import { resourceTypeOf } from "../../common/consumer/resource_type_of.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { serves } from "../../common/consumer/serves.ts";
import type { FieldManager } from "../../common/api/names.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { sleep } from "../../common/time/wait.ts";
import { CliError } from "../cli_error.ts";
import type { Io } from "../terminal/io.ts";
import type { Consumer } from "./connect_consumer.ts";
import { clusterText } from "./consumer_failure.ts";

/** How long a cluster may take to serve kinds whose CRDs were just installed. */
export const DISCOVERY_WAIT_MS = 10_000;
const DISCOVERY_BACKOFF = { baseMs: 50, capMs: 500 };

/** An object as results name it. */
export const objectText = ({ kind, metadata }: Pick<KubeObject, "kind" | "metadata">): string =>
  `${kind}/${metadata.name}`;

/**
 * Applies objects one after the other, taking over what others own, and prints each. Gives them as
 * they are stored; those before a failure stay.
 */
export async function applyObjects(
  io: Pick<Io, "out">,
  { kube }: Consumer,
  objects: readonly KubeObject[],
  manager: FieldManager,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const stored: KubeObject[] = [];
  for (const object of objects) {
    stored.push(await kube.apply(resourceTypeOf(object), object, manager, signal));
    io.out([`${objectText(object)} applied`]);
  }
  return stored;
}

/** Prints what applying these objects would do, and writes nothing. */
export async function previewObjects(
  io: Pick<Io, "out">,
  { kube }: Consumer,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const present = await kube.find(resourceTypeOf(object), keyOf(object), signal);
    io.out([`${objectText(object)} would be ${present ? "updated" : "created"}`]);
  }
}

/** Resolves once the cluster serves these kinds; fails when it still does not after the wait. */
export async function whenServed(
  { kube, target }: Consumer,
  types: readonly ResourceType[],
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + waitMs;
  const backoff = new Backoff(DISCOVERY_BACKOFF);
  for (const type of types) {
    while (!await serves(kube, type, signal)) {
      if (performance.now() >= end) throw notServed(type, target);
      await sleep(backoff.next(), signal);
    }
  }
}

const notServed = (type: ResourceType, target: Consumer["target"]): CliError =>
  new CliError(
    "failure",
    `Cannot make a ${type.kind} on ${clusterText(target)}: ` +
      `it does not serve ${type.plural}.${type.group}`,
    "Install the konnector first: kubectl bind connect",
  );
