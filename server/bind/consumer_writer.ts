import type { KubeObject, ResourceType } from "../../common/api/resources.ts";
import { applyFailed } from "../errors.ts";
import { resourceTypeOf } from "../../common/consumer/resource_type_of.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { serves } from "../../common/consumer/serves.ts";
import type { FieldManager } from "../../common/api/names.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { sleep } from "../../common/time/wait.ts";
import { plainReason } from "./plain_reason.ts";

/** How long a cluster may take to serve kinds whose CRDs were just installed. */
export const DISCOVERY_WAIT_MS = 10_000;
const DISCOVERY_BACKOFF = { baseMs: 50, capMs: 500 };

/** Writes to a consumer cluster, and tells failures without the words of that cluster. */
export class ConsumerWriter {
  readonly #kube: KubeClient;
  readonly #signal: AbortSignal;

  constructor(kube: KubeClient, signal: AbortSignal) {
    this.#kube = kube;
    this.#signal = signal;
  }

  /** Applies objects one after the other, taking over what others own. */
  async apply(objects: readonly KubeObject[], manager: FieldManager): Promise<void> {
    for (const object of objects) {
      const action = `apply ${object.kind}/${object.metadata.name} to the consumer cluster`;
      const type = resourceTypeOf(object);
      const stored: unknown = await this.#told(
        action,
        () => this.#kube.apply(type, object, manager, this.#signal),
      );
      if (!isSame(stored, object)) {
        throw applyFailed(action, "the answer is not the applied object");
      }
    }
  }

  /** Resolves once the cluster serves these kinds; fails when it still does not after the wait. */
  async whenServed(types: readonly ResourceType[], waitMs: number): Promise<void> {
    const end = performance.now() + waitMs;
    const backoff = new Backoff(DISCOVERY_BACKOFF);
    for (const type of types) {
      const action = `apply a ${type.kind} to the consumer cluster`;
      while (!await this.#told(action, () => serves(this.#kube, type, this.#signal))) {
        if (performance.now() > end) {
          const crd = `${type.plural}.${type.group}`;
          throw applyFailed(action, `it does not serve ${crd}; install the konnector first`);
        }
        await sleep(backoff.next(), this.#signal);
      }
    }
  }

  async #told<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      // A stranger's certificates and answers may fail in ways that nobody thought of.
      throw applyFailed(action, plainReason(error), isAnswer(error) ? undefined : error);
    }
  }
}

/** Whether an answer is about this object: a proxy's login page is not, even with status 200. */
function isSame(answer: unknown, { kind, metadata }: KubeObject): boolean {
  const fields = answer as Partial<KubeObject> | null | undefined;
  return fields?.kind === kind && fields.metadata?.name === metadata.name;
}

/** The words of an answer stay out of our log: they may repeat the very credentials we sent. */
const isAnswer = (error: unknown): boolean => error instanceof KubeError && error.status > 0;
