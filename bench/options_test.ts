import assert from "node:assert/strict";
import { parseOptions } from "./options.ts";

const NAMES = ["bind", "growth"];
const DEFAULTS = { mode: "quick", only: [], shrink: 1, soakMinutes: 60, measures: true };

Deno.test("parseOptions()", async (t) => {
  const good: [args: string[], options: object][] = [
    [[], {}],
    [["--full"], { mode: "full" }],
    [["--only=bind,growth", "--shrink=20"], { only: NAMES, shrink: 20 }],
    [["--soak", "--minutes=0.5"], { mode: "soak", soakMinutes: 0.5 }],
    [["--write-docs"], { writeDocs: {}, measures: false }],
    [["--write-docs=a.json"], { writeDocs: { from: "a.json" }, measures: false }],
    [["--full", "--write-docs"], { mode: "full", writeDocs: {}, measures: true }],
  ];
  for (const [args, options] of good) {
    await t.step(`parses "${args.join(" ")}"`, () => {
      assert.deepEqual(parseOptions(args, NAMES), { ...DEFAULTS, ...options });
    });
  }
  const bad: [args: string[], reason: RegExp][] = [
    [["--quick", "--full"], /exclude each other/],
    [["--only=binds"], /no scenario "binds"; there are bind, growth/],
    [["--only"], /needs a value/],
    [["--full=1"], /takes no value/],
    [["--shrink=0"], /above 0/],
    [["--fast"], /unknown argument "--fast"/],
    [["bind"], /unknown argument "bind"/],
  ];
  for (const [args, reason] of bad) {
    await t.step(`refuses "${args.join(" ")}"`, () => {
      assert.throws(() => parseOptions(args, NAMES), reason);
    });
  }
});
