import assert from "node:assert/strict";
import { ControlledProcess } from "./controlled_process.ts";
import { eventually } from "./eventually.ts";
import { Guard } from "./guard.ts";

/** Appends a tick to a file ten times a second; says goodbye when asked to end. */
const TICKER = `
  trap 'echo goodbye; exit 0' TERM
  while true; do echo tick >> "$0"; sleep 0.1; done
`;

const setUp = async () => {
  const parent = await Deno.makeTempDir({ prefix: "xbind-process-test-" });
  const guard = await Guard.start(`${parent}/plane`, { andParent: true });
  const file = `${guard.dir}/ticks`;
  const ticks = () => Deno.readTextFile(file).then((text) => text.length, () => 0);
  const ticker = new ControlledProcess(guard, {
    name: "ticker",
    command: "sh",
    args: ["-c", TICKER, file],
    isReady: async () => await ticks() > 0,
  });
  return { guard, ticker, ticks, [Symbol.asyncDispose]: () => guard[Symbol.asyncDispose]() };
};

Deno.test("ControlledProcess starts, stops and starts again", async () => {
  await using test = await setUp();
  assert.equal(test.ticker.running, false);
  await test.ticker.start();
  const first = test.ticker.pid;
  assert.equal(test.ticker.running, true);
  await assert.rejects(test.ticker.start(), /Cannot start ticker: it is running/);

  await test.ticker.stop();
  assert.equal(test.ticker.running, false);
  assert.equal(await test.ticker.output(), "goodbye");

  await test.ticker.restart();
  assert.notEqual(test.ticker.pid, first);
});

Deno.test("ControlledProcess pauses, resumes and kills", async () => {
  await using test = await setUp();
  await test.ticker.start();
  await test.ticker.pause();
  assert.equal(test.ticker.running, true);
  const before = await test.ticks();
  test.ticker.resume();
  await eventually("it ticks again", async () => await test.ticks() > before);

  await test.ticker.kill();
  assert.equal(test.ticker.running, false);
  assert.equal(await test.ticker.output(), "");
});

Deno.test("ControlledProcess.stop() ends a paused process too", async () => {
  await using test = await setUp();
  await test.ticker.start();
  await test.ticker.pause();
  await test.ticker.stop();
  assert.equal(await test.ticker.output(), "goodbye");
});

Deno.test("ControlledProcess.start() shows why a process ended early", async () => {
  await using test = await setUp();
  const broken = new ControlledProcess(test.guard, {
    name: "broken",
    command: "sh",
    args: ["-c", "echo no such flag >&2; exit 7"],
    isReady: () => Promise.resolve(false),
  });
  await assert.rejects(broken.start(), {
    message: "Cannot start broken: it ended with code 7\n" +
      "sh -c echo no such flag >&2; exit 7\nno such flag",
  });
});
