import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { parseAllDocuments } from "yaml";
import { parseUntrustedYaml, toYaml } from "./yaml.ts";

const parsed = (yaml: string, version: "1.1" | "1.2"): unknown[] =>
  parseAllDocuments(yaml, { version, merge: false }).map((document) => document.toJS());

Deno.test("toYaml() separates documents by three dashes", () => {
  assert.equal(toYaml([{ a: "b" }, { c: 1 }]), "a: b\n---\nc: 1\n");
  assert.equal(toYaml([{ a: "b" }]), "a: b\n");
  assert.equal(toYaml([]), "");
});

Deno.test("toYaml() writes repeated objects in full, without anchors", () => {
  const shared = { app: "x" };
  assert.equal(toYaml([{ one: shared, two: shared }]), "one:\n  app: x\ntwo:\n  app: x\n");
});

Deno.test("toYaml() quotes text that YAML 1.1 parsers would misread", () => {
  const words = "on off yes no y n Yes ON true null ~ 1e3 0x1F 0b1 012 1_000 190:20:30 .5 .inf";
  const dates = ["2026-01-02", "2026-01-02T03:04:05Z"];
  const syntax = ["<<", "---", "*a", "&a", "!a", "", " a", "a: b", "a #b"];
  for (const text of [...words.split(" "), ...dates, ...syntax]) {
    assert.deepEqual(parsed(toYaml([{ key: text }]), "1.1"), [{ key: text }], text);
    assert.deepEqual(parsed(toYaml([{ key: text }]), "1.2"), [{ key: text }], text);
  }
});

Deno.test("toYaml() writes no control sequences and no invisible characters", () => {
  const text = "a\u001b[31mb\u009b2Jc\u202ed\u200be\u2066\u0007";
  assert.doesNotMatch(toYaml([{ text }]), /[^\P{Cc}\n]|[\u200b\u202e\u2066]/u);
  assert.deepEqual(parsed(toYaml([{ text }]), "1.2"), [{ text }]);
});

Deno.test("toYaml() keeps blanks and line breaks, and no text can start a new line", () => {
  const long = `${"a".repeat(50)}\u001b\nkind: X`;
  for (const text of [" \n", "a \nb", "\n a", "a\n\n", " a\nb", long]) {
    assert.deepEqual(parsed(toYaml([{ text }]), "1.1"), [{ text }], JSON.stringify(text));
    assert.doesNotMatch(toYaml([{ text }]), /^kind/m);
  }
});

Deno.test("toYaml() keeps any text unchanged", () => {
  const character = fc.integer({ min: 0, max: 0x2ffff })
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.array(fc.string({ unit: character }), { maxLength: 3 }), (texts) => {
      const objects = texts.map((text) => ({ text, list: [text] }));
      assert.deepEqual(parsed(toYaml(objects), "1.1"), objects);
    }),
  );
});

Deno.test("parseUntrustedYaml() never quotes its text on stderr", async () => {
  const warnings: unknown[] = [];
  const onWarning = (warning: unknown) => warnings.push(warning);
  process.on("warning", onWarning);
  for (const text of ["? [a, b]\n: c", "? {a: b}\n: c", "!unknown a", "%UNKNOWN a\n---\nb"]) {
    try {
      parseUntrustedYaml(text);
    } catch {
      // It may also refuse the text.
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 0)); // warnings are emitted in the next tick
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});
