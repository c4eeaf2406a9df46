import {
  type Condition,
  condition,
  type Conditioned,
  type Deployment,
  isReadyFor,
  type KubeObject,
} from "../../common/api/resources.ts";
import { objectText, resourceTypeOf } from "../../common/consumer/apply_objects.ts";
import { Cache } from "../../common/kube/cache.ts";
import { wholeObjects } from "../../common/kube/follow.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import type { Io } from "../terminal/io.ts";
import { spinner } from "../terminal/spinner.ts";
import type { Consumer } from "./connect_consumer.ts";

type Waited = KubeObject & Conditioned;

/**
 * Waits until each applied object is Ready, or available if it is a Deployment. Prints their
 * conditions as they change; the timeout error repeats the last ones.
 */
export async function untilReady(
  io: Io,
  consumer: Consumer,
  applied: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const waits = applied.map((object) => new Wait(io, consumer, object, stop.signal));
  const names = applied.map(objectText).join(", ");
  io.say(`Waiting for ${names}`);
  using _spinner = spinner(io, `waiting for ${names}`);
  try {
    await Promise.all(waits.map((wait) => wait.done(signal)));
  } catch (error) {
    const isLate = error instanceof CliError && error.failure === "timeout";
    if (!isLate) throw error;
    const states = waits.flatMap((wait) => wait.missing()).join("; ");
    throw new CliError("timeout", `${error.message}: ${states}`, LATE_REMEDY, { cause: error });
  } finally {
    stop.abort();
    await Promise.all(waits.map((wait) => wait.ended));
  }
}

const LATE_REMEDY =
  "The applied objects stay, and may still become Ready. Run: kubectl bind doctor";

class Wait {
  readonly ended: Promise<void>;
  readonly #object: KubeObject;
  readonly #cache: Cache<Waited>;
  readonly #failed = Promise.withResolvers<never>();

  constructor(io: Pick<Io, "say">, { kube }: Consumer, object: KubeObject, signal: AbortSignal) {
    const { name, namespace } = object.metadata;
    const selection = { fieldSelector: `metadata.name=${name}`, ...(namespace && { namespace }) };
    this.#object = object;
    this.#failed.promise.catch(() => {}); // it may be rejected while nothing awaits it
    this.#cache = new Cache<Waited>(wholeObjects(resourceTypeOf(object), selection), {
      // Other failures are retried until the time is up.
      reports: { disconnected: (error) => isForbidden(error) && this.#failed.reject(error) },
    });
    let told = "";
    this.#cache.onChange(({ after }) => {
      const state = stateText(this.#object, after);
      if (state !== told) io.say(`  ${state}`);
      told = state;
    });
    this.ended = this.#cache.run(kube, signal);
  }

  async done(signal: AbortSignal): Promise<void> {
    const holds = this.#cache.waitFor(keyOf(this.#object), (now) => this.#holds(now), signal);
    await Promise.race([holds, this.#failed.promise]);
  }

  /** Describes the state of the object unless it is Ready. */
  missing(): string[] {
    const now = this.#cache.get(keyOf(this.#object));
    return now && this.#holds(now) ? [] : [stateText(this.#object, now)];
  }

  #holds(now: Waited): boolean {
    const { generation = 0 } = this.#object.metadata;
    return this.#object.kind === "Deployment"
      ? isAvailable(now as unknown as Deployment, generation)
      : isReadyFor(generation)(now);
  }
}

/** Returns whether all replicas of this generation run, and none of an earlier one. */
export function isAvailable({ spec, status = {} }: Deployment, generation: number): boolean {
  const { replicas = 1 } = spec;
  const { observedGeneration = 0, replicas: all = 0, updatedReplicas = 0, availableReplicas = 0 } =
    status;
  return observedGeneration >= generation && updatedReplicas >= replicas &&
    all <= updatedReplicas && availableReplicas >= updatedReplicas;
}

/** Describes an object's Ready condition, or a Deployment's Available condition. */
export function stateText(
  { kind, metadata }: Pick<KubeObject, "kind" | "metadata">,
  now: Conditioned | undefined,
): string {
  const name = objectText({ kind, metadata });
  if (!now) return `${name} does not exist`;
  const judged = condition(now, kind === "Deployment" ? "Available" : "Ready");
  return judged ? `${name} ${conditionText(judged)}` : `${name} has no status yet`;
}

/** Describes a condition, such as `Ready=False (Pending): waiting for the token`. */
export const conditionText = ({ type, status, reason, message }: Condition): string =>
  `${type}=${status} (${reason})${message ? `: ${message}` : ""}`;
