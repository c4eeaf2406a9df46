import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type Event, EVENTS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { eventRecorder } from "../../../common/kube/event_recorder.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { sleep } from "../../../common/time/wait.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { configMap, workspace } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const NEVER_MS = 600_000;

/**
 * A recorder with this pace for Events about one object, and the Events that it wrote. It calls
 * `answered` with the reason of an Event when its answer comes.
 */
async function startRecorder(
  quietMs: number,
  longestMs: number,
  answered: (reason: string) => void = () => {},
) {
  const at = await workspace(provider, "events");
  const { kube, namespace } = at;
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "iso8601",
  });
  const create: KubeClient["create"] = async (type, object, ...rest) => {
    const created = await kube.create(type, object, ...rest);
    answered((object as unknown as Event).reason);
    return created;
  };
  const recorder = eventRecorder({ create }, {
    log,
    manager: FIELD_MANAGERS.issuer,
    reporter: "xbind.io/test",
    instance: "test",
    now: () => new Date(),
    pace: { quietMs, longestMs },
  });
  const object = await kube.create(CONFIG_MAPS, configMap(namespace, "a"), FIELD_MANAGERS.cli);
  const events = () => kube.list(EVENTS, { namespace });
  return {
    record: (reason: string) => recorder.record(object, "Normal", reason, "it happened"),
    settle: recorder.settle,
    events,
    reasons: async () => (await events()).map(({ reason }) => reason).sort(),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

Deno.test("eventRecorder() writes Events after a quiet time", async () => {
  const quietMs = 3_000;
  await using recorder = await startRecorder(quietMs, NEVER_MS);
  recorder.record("First");
  await sleep(2_000);
  const recordedAt = Date.now();
  recorder.record("Second");
  const events = await eventually("both Events are written", async () => {
    const all = await recorder.events();
    return all.length === 2 && all;
  });
  for (const { reason, metadata } of events) {
    const writtenBy = Date.parse(metadata.creationTimestamp ?? "") + 1_000; // rounded down
    assert.ok(writtenBy > recordedAt + quietMs, `${reason} at ${metadata.creationTimestamp}`);
  }
});

Deno.test("eventRecorder() writes an Event after longestMs at the latest", async () => {
  await using recorder = await startRecorder(NEVER_MS, 500);
  recorder.record("First");
  await eventually("the Event is written", async () => (await recorder.reasons()).length === 1);
  await recorder.settle();
});

Deno.test("eventRecorder() forgets no Event that comes right after the last answer", async () => {
  const STEPS = 12;
  /** Records the next Event after this many microtasks. */
  const recordNext = async (steps: number) => {
    for (let step = 0; step < steps; step++) await undefined;
    if (steps < STEPS) recorder.record(String(steps + 1));
  };
  await using recorder = await startRecorder(0, 0, (reason) => void recordNext(Number(reason)));
  recorder.record("0");
  await eventually("all Events are written", async () => {
    const { length } = await recorder.reasons();
    assert.equal(length, STEPS + 1);
    return true;
  });
});

Deno.test("eventRecorder().settle() writes all waiting Events, and recording goes on", async () => {
  await using recorder = await startRecorder(NEVER_MS, NEVER_MS);
  const reasons = Array.from({ length: 20 }, (_, i) => `Reason${i}`).sort();
  for (const reason of reasons) recorder.record(reason);
  await recorder.settle();
  assert.deepEqual(await recorder.reasons(), reasons);
  recorder.record("Later");
  recorder.record("Reason0"); // already written in this hour
  await recorder.settle();
  assert.deepEqual(await recorder.reasons(), ["Later", ...reasons]);
});
