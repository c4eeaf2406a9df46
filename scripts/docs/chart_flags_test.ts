import assert from "node:assert/strict";
import { FLAGS } from "../../server/flag_table.ts";
import type { FlagTable } from "../../common/flags/flag_kinds.ts";
import { chartFlags, sets } from "./chart_flags.ts";
import { chartValues } from "./chart_values.ts";

const chart = new URL("../../deploy/chart/", import.meta.url);
const rows = chartFlags(await Deno.readTextFile(new URL("templates/_flags.tpl", chart)));
const values = chartValues(await Deno.readTextFile(new URL("values.yaml", chart)));
const flags: FlagTable = FLAGS;
const defaults = new Map(values.map(({ path, byDefault }) => [path, byDefault]));

Deno.test("chartFlags() of the chart has every flag of the backend once, and no other", () => {
  assert.deepEqual(rows.map(({ flag }) => flag).sort(), Object.keys(FLAGS).sort());
});

Deno.test("chartFlags() of the chart gives secrets by Secret, and nothing else", () => {
  for (const { flag, secret, key } of rows) {
    const isSecret = flags[flag]?.secret ?? false;
    assert.deepEqual([secret !== undefined, key !== undefined], [isSecret, isSecret], flag);
  }
});

Deno.test("chartFlags() of the chart mounts the files that flags name, and nothing else", () => {
  for (const { flag, file } of rows) {
    assert.equal(file !== undefined, flags[flag]?.placeholder === "file", flag);
  }
});

Deno.test("chartFlags() of the chart names values that are there", () => {
  for (const { flag, value, secret, key, file } of rows) {
    for (const path of [value, secret, key]) {
      if (path !== undefined) assert.ok(defaults.has(path), `${flag}: ${path}`);
    }
    if (file !== undefined) assert.ok(defaults.has(`${file}.existingSecret`), `${flag}: ${file}`);
  }
});

Deno.test("values.yaml has the defaults of the backend", () => {
  for (const { flag, value, secret, file } of rows) {
    const byDefault = defaults.get(value ?? secret ?? `${file}.existingSecret`);
    const text = Array.isArray(byDefault) ? byDefault.join(",") : String(byDefault);
    assert.equal(text, flags[flag]?.defaultText, flag);
  }
});

Deno.test("chartFlags() says when the table is not there", () => {
  assert.throws(() => chartFlags(""), /"xbind-backend\.flags" is not there/);
});

Deno.test("sets() knows the parts of a Secret and of a file", () => {
  const secret = { flag: "x", secret: "a.existingSecret", key: "a.key" };
  const file = { flag: "y", file: "b" };
  const cases: [row: typeof secret | typeof file, path: string, answer: boolean][] = [
    [secret, "a.existingSecret", true],
    [secret, "a.key", true],
    [secret, "a.other", false],
    [file, "b.key", true],
    [file, "bb.key", false],
  ];
  for (const [row, path, answer] of cases) assert.equal(sets(row, path), answer, path);
});
