import { Cache } from "../../common/kube/cache.ts";
import { metadataObjects } from "../../common/kube/follow.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import type { Io } from "../terminal/io.ts";
import type { WriteOptions } from "../options.ts";
import { spinner } from "../terminal/spinner.ts";
import { objectText } from "../../common/consumer/apply_objects.ts";
import { type Consumer, timeLimit, withConsumer } from "../consumer/connect_consumer.ts";
import { type BoundObject, findBound } from "../consumer/find_bound.ts";
import { sayTarget } from "./connect.ts";

/** The flags of `kubectl bind unbind`. */
export type UnbindOptions = Omit<WriteOptions, "wait">;

/** Deletes the objects of a bundle from the consumer cluster; the Grant stays. */
export async function runUnbind(io: Io, exportName: string, options: UnbindOptions): Promise<void> {
  await withConsumer(io, options, async (consumer) => {
    using limit = timeLimit(options.timeoutMs, io.signal);
    const bound = await findBound(io, consumer, exportName, options, limit.signal);
    sayTarget(io, consumer);
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
  const cache = new Cache(metadataObjects(type, selection));
  const stop = new AbortController();
  const ended = cache.run(kube, stop.signal);
  using _spinner = spinner(io, `waiting for the deletion of ${objectText(object)}`);
  try {
    await cache.waitForAbsence(key, uid, signal);
  } catch (error) {
    const isLate = error instanceof CliError && error.failure === "timeout";
    throw isLate ? stillHeld(object, error) : error;
  } finally {
    stop.abort();
    await ended;
  }
}

const stillHeld = (object: BoundObject["object"], cause: CliError): CliError =>
  new CliError(
    "timeout",
    `${cause.message}: ${objectText(object)} is being deleted, but its finalizers ` +
      `(${object.metadata.finalizers?.join(", ") ?? "unknown"}) still hold it`,
    "Check that the konnector runs (kubectl bind doctor), then run the command again",
    { cause },
  );
