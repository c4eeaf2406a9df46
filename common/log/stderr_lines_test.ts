import assert from "node:assert/strict";
import { stderrLines, type SyncSink } from "./stderr_lines.ts";

/** Makes a sink that follows a script for the first writes, then accepts everything. */
const scripted = (...script: (number | Error)[]) => {
  let text = "";
  const decoder = new TextDecoder();
  const sink: SyncSink = {
    writeSync(bytes) {
      const next = script.shift() ?? bytes.length;
      if (next instanceof Error) throw next;
      text += decoder.decode(bytes.subarray(0, next), { stream: true });
      return next;
    },
  };
  return { sink, text: () => text };
};

const busy = () => new Deno.errors.WouldBlock("try again");
const gone = () => new Deno.errors.BrokenPipe("gone");

Deno.test("stderrLines() finishes partial writes, also within a character", () => {
  const { sink, text } = scripted(1, 1, 3);
  stderrLines(sink)("äbcdef");
  assert.equal(text(), "äbcdef\n");
});

Deno.test("stderrLines() waits for a slow reader", () => {
  let waited = 0;
  const { sink, text } = scripted(2, busy(), busy(), 1);
  stderrLines(sink, (ms) => waited += ms)("line");
  assert.equal(text(), "line\n");
  assert.equal(waited, 4);
});

Deno.test("stderrLines() drops and counts lines for a blocked reader, and recovers", () => {
  let pauses = 0;
  const { sink, text } = scripted(3, ...Array.from({ length: 23 }, busy));
  const write = stderrLines(sink, () => pauses++);
  write("first"); // three bytes get out
  assert.equal(pauses, 20);
  write("second");
  write("third");
  assert.equal(pauses, 20, "only the first line waited");
  write("fourth");
  write("fifth");
  assert.equal(text(), "fir\n3 log lines were lost: stderr was blocked\nfourth\nfifth\n");
});

Deno.test("stderrLines() survives a reader that is gone, without waiting", () => {
  const { sink, text } = scripted(gone(), gone(), new Error("anything else"));
  const write = stderrLines(sink, () => assert.fail("waited"));
  for (const line of ["a", "b", "c"]) write(line);
  assert.equal(text(), "");
});
