import assert from "node:assert/strict";
import { type ProgressClock, progressTo } from "./progress.ts";

/** An output that remembers, and a clock that a test moves. */
const setUp = (terminal: boolean) => {
  let text = "";
  let now = 0;
  const timers = new Set<{ ms: number; callback: () => void; next: number }>();
  const output = {
    isTerminal: () => terminal,
    writeSync: (octets: Uint8Array) => {
      const some = octets.subarray(0, 7); // a short write, as a pipe may do
      text += String.fromCharCode(...some);
      return some.length;
    },
  };
  const clock: ProgressClock = {
    now: () => now,
    every: (ms, callback) => {
      const timer = { ms, callback, next: now + ms };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
  const pass = (seconds: number) => {
    for (const end = now + seconds * 1000; now < end; now += 1000) {
      for (const timer of timers) {
        if (timer.next <= now) {
          timer.callback();
          timer.next += timer.ms;
        }
      }
    }
  };
  const written = () =>
    new TextDecoder().decode(Uint8Array.from(text, (character) => character.charCodeAt(0)));
  return { progress: progressTo(output, clock), pass, written, timers };
};

Deno.test("progressTo() writes a line at start, every 30 s and at the end to a file", async () => {
  const { progress, pass, written, timers } = setUp(false);
  const result = await progress.run("[2/5] kube-apiserver", () => {
    pass(70);
    return Promise.resolve("built");
  });
  assert.equal(result, "built");
  assert.deepEqual(written().split("\n"), [
    "[2/5] kube-apiserver …",
    "[2/5] kube-apiserver … 30 s",
    "[2/5] kube-apiserver … 60 s",
    "[2/5] kube-apiserver … done in 70 s",
    "",
  ]);
  assert.equal(timers.size, 0);
});

Deno.test("progressTo() rewrites one line each second on a terminal", async () => {
  const { progress, pass, written } = setUp(true);
  await progress.run("etcd", () => {
    pass(3);
    return Promise.resolve();
  });
  assert.deepEqual(written().split("\r\x1b[K"), [
    "etcd …",
    "etcd … 1 s",
    "etcd … 2 s",
    "etcd … done in 3 s\n",
  ]);
});

Deno.test("progressTo() shows how far a step is until it ends", async () => {
  const { progress, pass, written } = setUp(true);
  await progress.run("kubectl", (report) => {
    pass(2);
    report("9 of 60 MB");
    report("31 of 60 MB");
    pass(1);
    return Promise.resolve();
  });
  assert.deepEqual(written().split("\r\x1b[K"), [
    "kubectl …",
    "kubectl … 1 s",
    "kubectl … 2 s, 31 of 60 MB",
    "kubectl … done in 3 s\n",
  ]);
});

Deno.test("progressTo() says that a step failed and passes the error on", async () => {
  const { progress, pass, written, timers } = setUp(false);
  const failure = new Error("no");
  await assert.rejects(
    progress.run("kubectl", () => {
      pass(2);
      return Promise.reject(failure);
    }),
    failure,
  );
  assert.equal(written(), "kubectl …\nkubectl … failed after 2 s\n");
  assert.equal(timers.size, 0);
});
