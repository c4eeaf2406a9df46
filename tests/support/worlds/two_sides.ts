import { eventually, type Patience } from "../../../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  type Conditioned,
  isReady,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { type Connected, uniqueName } from "../planes/kube.ts";
import type { TestProvider } from "./provider.ts";

/** An object with any content. */
export type Instance = KubeObject & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [field: string]: unknown;
};

/** Where the objects of a bound API are. */
export interface Place {
  readonly type: ResourceType<Instance>;
  /** A namespace that exists on the consumer only. */
  readonly namespace: string;
}

const MANAGER = FIELD_MANAGERS.installer;
/** An API server learns of rights late, and a konnector that lacks one retries after up to 35 s. */
const PATIENCE: Patience = { timeoutMs: 60_000 };

/** The objects of a consumer and a provider: writes and reads them, and waits for them. */
export class TwoSides {
  constructor(readonly provider: TestProvider, readonly consumer: Connected) {}

  /** Waits until an object on the consumer is Ready in its current generation. */
  async isReady<T extends KubeObject & Conditioned>(
    type: ResourceType<T>,
    key: ObjectKey,
  ): Promise<T> {
    return await this.onConsumer(type, key, (found) => isReady(found));
  }

  /** Waits until a condition of an object on the consumer has this status and reason. */
  async hasCondition<T extends KubeObject & Conditioned>(
    type: ResourceType<T>,
    key: ObjectKey,
    condition: string,
    status: string,
    reason?: string,
  ): Promise<T> {
    return await this.onConsumer(type, key, (found) => {
      const has = found.status?.conditions?.find((each) => each.type === condition);
      return has?.status === status && (!reason || has.reason === reason);
    });
  }

  /** Waits until an object on the consumer satisfies the predicate. */
  async onConsumer<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    predicate: (object: T) => boolean = () => true,
  ): Promise<T> {
    return await this.#satisfied(this.consumer.kube, "consumer", type, key, predicate);
  }

  /** Waits until an object on the provider satisfies the predicate. */
  async onProvider<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    predicate: (object: T) => boolean = () => true,
  ): Promise<T> {
    return await this.#satisfied(this.provider.kube, "provider", type, key, predicate);
  }

  /** What a wait in vain tells besides the object that it saw last. */
  protected witness(): string {
    return "";
  }

  async #satisfied<T extends KubeObject>(
    kube: KubeClient,
    side: string,
    type: ResourceType<T>,
    key: ObjectKey,
    predicate: (object: T) => boolean,
  ): Promise<T> {
    let last: T | undefined;
    try {
      return await eventually(`${type.kind} ${key.name} on the ${side}`, async () => {
        last = await kube.get(type, key);
        return predicate(last) && last;
      }, PATIENCE);
    } catch (error) {
      const seen = `last seen: ${JSON.stringify(last)}`;
      throw new Error(`${error}; ${seen}${this.witness()}`, { cause: error });
    }
  }

  /** Waits until an object is gone on both sides. */
  async gone(type: ResourceType, key: ObjectKey): Promise<void> {
    for (const kube of [this.consumer.kube, this.provider.kube]) await isGone(kube, type, key);
  }

  /** Creates a namespace on the consumer. */
  async namespace(prefix: string): Promise<string> {
    const name = uniqueName(prefix);
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await this.consumer.kube.create(NAMESPACES, namespace, MANAGER);
    return name;
  }

  /** Creates an object on the consumer. */
  async create(
    { type, namespace }: Place,
    name: string,
    content: object = { spec: { size: 1 } },
    metadata: Partial<KubeObject["metadata"]> = {},
  ): Promise<Instance> {
    return await createInstance(this.consumer.kube, type, namespace, name, content, metadata);
  }

  /** Creates a foreign object on the provider. */
  async createForeign(
    { type, namespace }: Place,
    name: string,
    content: object = { spec: { size: 7 } },
    metadata: Partial<KubeObject["metadata"]> = {},
  ): Promise<Instance> {
    if (type.namespaced) await this.provider.makeNamespace(namespace);
    return await createInstance(this.provider.kube, type, namespace, name, content, metadata);
  }

  /** Changes an object on one side by a merge patch, or its status. */
  async edit(
    side: "consumer" | "provider",
    { type, namespace }: Place,
    name: string,
    change: object,
    part?: "status",
  ): Promise<Instance> {
    const kube = side === "consumer" ? this.consumer.kube : this.provider.kube;
    const key = { name, ...(type.namespaced ? { namespace } : {}) };
    const steps = Object.entries(change).map(([field, value]) => ({
      op: "add" as const,
      path: `/${field}`,
      value,
    }));
    return await kube.jsonPatch(type, key, steps, { manager: MANAGER, part });
  }
}

async function createInstance(
  kube: KubeClient,
  type: ResourceType<Instance>,
  namespace: string,
  name: string,
  content: object,
  metadata: Partial<KubeObject["metadata"]>,
): Promise<Instance> {
  const object = {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, ...(type.namespaced ? { namespace } : {}), ...metadata },
    ...content,
  };
  return await eventually(`${type.kind} ${name} can be made`, () => {
    return kube.create(type, object as Instance, MANAGER);
  });
}

/** Waits until an object is gone. */
export async function isGone(
  kube: KubeClient,
  type: ResourceType,
  key: ObjectKey,
  patience: Patience = {},
): Promise<void> {
  await eventually(`${type.kind} ${key.name} is gone`, async () => {
    try {
      return await kube.find(type, key) === undefined;
    } catch (error) {
      return isNotFound(error); // its CRD is gone
    }
  }, patience);
}
