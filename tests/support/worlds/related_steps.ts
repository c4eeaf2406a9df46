import { FIELD_MANAGERS, type FieldManager } from "../../../common/api/names.ts";
import {
  type ConfigMap,
  type KubeObject,
  NAMESPACES,
  type ObjectMeta,
  type RelatedResource,
  relatedType,
  type Secret,
} from "../../../common/api/resources.ts";
import type { PatchStep } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { ofObjects, writesAfter } from "./konnector_steps.ts";
import { bindingOf, type Bound, type KonnectorWorld } from "./konnector_world.ts";
import { isGone } from "./two_sides.ts";

/** A Secret or a ConfigMap. */
export type RelatedObject = Secret & ConfigMap;
type Resource = RelatedResource["resource"];
type Cluster = "provider" | "consumer";

/** Both directions: the side with the source, and the side with the copy. */
export const DIRECTIONS = [
  ["FromProvider", "provider", "consumer"],
  ["FromConsumer", "consumer", "provider"],
] as const;

/** Both resources. */
export const RESOURCES = ["secrets", "configmaps"] as const;

/** Labels with the value `yes`, annotations, and other fields of an object. */
export interface PutOptions {
  readonly labels?: readonly string[];
  readonly annotations?: Record<string, string>;
  readonly [field: string]: unknown;
}

/** A rule for Secrets or ConfigMaps with this label, or with these names. */
export function rule(
  resource: Resource,
  direction: RelatedResource["direction"],
  by: { readonly label?: string; readonly names?: string[] } = {},
): RelatedResource {
  const { label, names } = by;
  const selector = {
    ...(label ? { labelSelector: { matchLabels: { [label]: "yes" } } } : {}),
    ...(names ? { names } : {}),
  };
  return { resource, direction, selector };
}

/** Secrets and ConfigMaps on both sides of a world. */
export class RelatedSteps {
  readonly #world: KonnectorWorld;

  constructor(world: KonnectorWorld) {
    this.#world = world;
  }

  #kube(side: Cluster) {
    return this.#world[side].kube;
  }

  /** Replaces the rules of a binding. */
  async setRules(bound: Bound, relatedResources: RelatedResource[]): Promise<void> {
    const { spec, ...binding } = bindingOf(bound);
    await this.#world.apply([{ ...binding, spec: { ...spec, relatedResources } } as KubeObject]);
  }

  /** Returns the konnector's writes on anything but Connections and bindings during `run`. */
  async writes(run: () => Promise<unknown>): Promise<string[]> {
    return ofObjects(await writesAfter(this.#world, run));
  }

  /** Creates an object, and its namespace if that is missing. The value is its data. */
  async put(
    side: Cluster,
    resource: Resource,
    { namespace = "", name }: ObjectKey,
    value: string,
    { labels = [], annotations = {}, ...fields }: PutOptions = {},
  ): Promise<RelatedObject> {
    const kube = this.#kube(side);
    const metadata: ObjectMeta = {
      name,
      namespace,
      labels: Object.fromEntries(labels.map((label) => [label, "yes"])),
      annotations,
    };
    const type = relatedType(resource);
    const data = { value: resource === "secrets" ? btoa(value) : value };
    const object = { apiVersion: "v1", kind: type.kind, metadata, data, ...fields };
    const create = () => kube.create(type, object as RelatedObject, FIELD_MANAGERS.installer);
    try {
      return await create();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const home = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await kube.create(NAMESPACES, home, FIELD_MANAGERS.installer);
      return await create();
    }
  }

  /** Changes an object as another field manager. */
  async patch(
    side: Cluster,
    resource: Resource,
    key: ObjectKey,
    steps: readonly PatchStep[],
  ): Promise<void> {
    const options = { manager: "meddler" as FieldManager };
    await this.#kube(side).jsonPatch(relatedType(resource), key, steps, options);
  }

  /** Gives an object another value. */
  async write(side: Cluster, resource: Resource, key: ObjectKey, value: string): Promise<void> {
    const text = resource === "secrets" ? btoa(value) : value;
    await this.patch(side, resource, key, [{ op: "add", path: "/data/value", value: text }]);
  }

  /** Waits until a side has an object with this value. */
  async has(
    side: Cluster,
    resource: Resource,
    key: ObjectKey,
    value: string,
  ): Promise<RelatedObject> {
    const text = resource === "secrets" ? btoa(value) : value;
    const wait = side === "provider" ? "onProvider" : "onConsumer";
    return await this.#world[wait](
      relatedType(resource),
      key,
      ({ data }) => data?.["value"] === text,
    );
  }

  /** Reads an object. */
  async find(
    side: Cluster,
    resource: Resource,
    key: ObjectKey,
  ): Promise<RelatedObject | undefined> {
    return await this.#kube(side).find(relatedType(resource), key);
  }

  async delete(side: Cluster, resource: Resource, key: ObjectKey): Promise<void> {
    await this.#kube(side).delete(relatedType(resource), key);
  }

  /** Waits until a side has no such object. */
  async gone(side: Cluster, resource: Resource, key: ObjectKey): Promise<void> {
    await isGone(this.#kube(side), relatedType(resource), key);
  }
}
