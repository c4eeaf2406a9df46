import {
  condition,
  type Conditioned,
  type KubeObject,
  SECRETS,
} from "../../common/api/resources.ts";
import { Cache } from "../../common/kube/cache.ts";
import { type FollowSource, metadataObjects, wholeObjects } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import { confirm } from "../terminal/confirm.ts";
import type { Io, LoginIo } from "../terminal/io.ts";
import { progress } from "../terminal/progress.ts";
import type { WriteOptions } from "../options.ts";
import { objectText } from "../../common/consumer/apply_objects.ts";
import { type Consumer, timeLimit, withConsumer } from "../consumer/connect_consumer.ts";
import { type BoundObject, findBound } from "../consumer/find_bound.ts";
import { conditionText } from "../consumer/until_ready.ts";
import { type Going, goingLines, lossText, whatGoes } from "../consumer/what_goes.ts";
import { sayTarget } from "./connect.ts";

/** The flags of `kubectl bind unbind`. */
export interface UnbindOptions extends Omit<WriteOptions, "wait"> {
  /** Deletes objects without a question. */
  readonly yes?: boolean | undefined;
}

/** Deletes the objects of a bundle from the consumer cluster; the Grant stays. */
export async function runUnbind(
  io: LoginIo,
  exportName: string,
  options: UnbindOptions,
): Promise<void> {
  await withConsumer(io, options, async (consumer) => {
    const { bound, going } = await look(io, consumer, exportName, options);
    for (const line of going ? goingLines(going) : []) io.say(line);
    const loss = going ? lossText(going) : "";
    if (loss && !options.dryRun && !options.yes) await confirmLoss(io, exportName, loss);
    // The time that a person takes to answer does not count.
    using limit = timeLimit(options.timeoutMs, io.signal);
    for (const each of bound) {
      if (!options.dryRun) await deleteWholly(io, consumer, each, limit.signal);
      io.out([`${objectText(each.object)} ${options.dryRun ? "would be deleted" : "deleted"}`]);
    }
    if (options.dryRun) return io.say("Dry run: nothing was changed");
    const [{ object }] = bound as [BoundObject];
    io.say(
      `Grant ${object.metadata.name} and its credential stay with the provider until the provider ` +
        "deletes the Grant, or its reaper does because no cluster uses it. Until then " +
        `kubectl bind export ${exportName} uses them again`,
    );
  });
}

/** Finds what is bound, and what would go with it. */
async function look(
  io: LoginIo,
  consumer: Consumer,
  exportName: string,
  options: UnbindOptions,
): Promise<{ readonly bound: BoundObject[]; readonly going: Going | undefined }> {
  using limit = timeLimit(options.timeoutMs, io.signal);
  const bound = await findBound(io, consumer, exportName, options, limit.signal);
  sayTarget(io, consumer);
  return { bound, going: await whatGoes(consumer.kube, bound, limit.signal) };
}

function confirmLoss(io: LoginIo, exportName: string, loss: string): Promise<void> {
  return confirm(io, {
    question: `Unbind "${exportName}" and delete ${loss}?`,
    refusal:
      `Cannot unbind Export "${exportName}": it would delete ${loss} as above, and nobody can be asked`,
  });
}

/**
 * Deletes the object with this UID and waits until it is gone, because the konnector may need the
 * next objects while it cleans up after this one.
 */
async function deleteWholly(
  io: Io,
  { kube }: Consumer,
  { type, object }: BoundObject,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(object);
  const { uid = "", name } = object.metadata;
  try {
    await kube.delete(type, key, { uid }, signal);
  } catch (error) {
    if (isNotFound(error)) return;
    throw error;
  }
  const { namespace } = key;
  const selection = { fieldSelector: `metadata.name=${name}`, ...(namespace && { namespace }) };
  // Only metadata of the Secret, so that no credentials are read.
  const source = type.plural === SECRETS.plural
    ? metadataObjects(type, selection)
    : wholeObjects(type, selection);
  const cache = new Cache<MetadataObject & Conditioned>(source as FollowSource<MetadataObject>);
  const stop = new AbortController();
  const ended = cache.run(kube, stop.signal);
  const waiting = `waiting for the deletion of ${objectText(object)}`;
  using shown = progress(io, waiting);
  cache.onChange(({ after }) => {
    const ready = after && condition(after, "Ready");
    if (ready?.reason === "DrainingObjects") shown.show(ready.message);
    else if (ready?.status === "False") shown.show(`${waiting}: ${conditionText(ready)}`);
  });
  try {
    await cache.waitForAbsence(key, uid, signal);
  } catch (error) {
    const isLate = error instanceof CliError && error.failure === "timeout";
    throw isLate ? stillHeld({ ...object, ...cache.get(key) }, error) : error;
  } finally {
    stop.abort();
    await ended;
  }
}

const stillHeld = (object: KubeObject & Conditioned, cause: CliError): CliError => {
  const ready = condition(object, "Ready");
  return new CliError(
    "timeout",
    `${cause.message}: ${objectText(object)} is being deleted, but its finalizers ` +
      `(${object.metadata.finalizers?.join(", ") ?? "unknown"}) still hold it` +
      (ready?.status === "False" ? `; ${conditionText(ready)}` : ""),
    "Check that the konnector runs (kubectl bind doctor), then run the command again",
    { cause },
  );
};
