import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, EVENTS } from "../../../common/api/resources.ts";
import { eventRecorder } from "../../../common/kube/event_recorder.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { sleep } from "../../../common/time/wait.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { configMap, workspace } from "../../support/planes/kube.ts";

// Before any test, so that no test is charged with processes it does not end.
const provider = await sharedProvider();

const NEVER_MS = 600_000;

/** A recorder of this pace, an object to tell of, and what was told of it. */
async function newsroom(quietMs: number, longestMs: number) {
  const at = await workspace(provider, "events");
  const { kube, namespace } = at;
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "iso8601",
  });
  const recorder = eventRecorder(kube, {
    log,
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
    told: async () => (await events()).map(({ reason }) => reason).sort(),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

Deno.test("eventRecorder() tells news when there was none for a while", async () => {
  const quietMs = 3_000;
  await using news = await newsroom(quietMs, NEVER_MS);
  news.record("First");
  await sleep(2_000);
  const lastNews = Date.now();
  news.record("Second");
  const events = await eventually("both are told", async () => {
    const all = await news.events();
    return all.length === 2 && all;
  });
  for (const { reason, metadata } of events) {
    const toldBefore = Date.parse(metadata.creationTimestamp ?? "") + 1_000; // in whole seconds
    assert.ok(toldBefore > lastNews + quietMs, `${reason} at ${metadata.creationTimestamp}`);
  }
});

Deno.test("eventRecorder() lets no news wait for ever", async () => {
  await using news = await newsroom(NEVER_MS, 500);
  news.record("First");
  await eventually("it is told", async () => (await news.told()).length === 1);
  await news.settle();
});

Deno.test("eventRecorder() settles by telling all that waits, and goes on", async () => {
  await using news = await newsroom(NEVER_MS, NEVER_MS);
  const reasons = Array.from({ length: 20 }, (_, i) => `News${i}`).sort();
  for (const reason of reasons) news.record(reason);
  await news.settle();
  assert.deepEqual(await news.told(), reasons);
  news.record("Later");
  news.record("News0"); // told already, this hour
  await news.settle();
  assert.deepEqual(await news.told(), ["Later", ...reasons]);
});
