import assert from "node:assert/strict";
import { commandLineOf, normalizeArgs } from "./argv.ts";
import { completionOf } from "./run/complete.ts";
import type { LoginIo } from "./terminal/io.ts";
import { createProgram } from "./program.ts";

const silentIo = (out: LoginIo["out"] = () => {}): LoginIo => ({
  args: [],
  env: {},
  out,
  say: () => {},
  isTerminal: { stdin: false, stdout: false, stderr: false },
  now: () => new Date(0),
  signal: new AbortController().signal,
  platform: "linux",
  lines: async function* () {},
  openBrowser: () => Promise.resolve(false),
});

/** What the program makes of a command line, with nothing run. */
const parsed = async (line: string) => {
  const program = createProgram(silentIo());
  const seen: { name?: string; args?: unknown[]; options?: Record<string, unknown> } = {};
  for (const command of program.commands) {
    command.action((...args: unknown[]) => {
      seen.name = command.name();
      seen.args = args.slice(0, -2).filter((arg) => arg !== undefined);
      seen.options = command.optsWithGlobals();
    });
  }
  const words = line.split(" ").filter(Boolean);
  await program.parseAsync(normalizeArgs(words, commandLineOf(program)), { from: "user" });
  return seen;
};

Deno.test("createProgram() parses every example in its help, which says kubectl bind", async (t) => {
  const help: string[] = [];
  const io = silentIo((lines) => help.push(...lines.map(String)));
  for (const command of [createProgram(io), ...createProgram(io).commands]) command.outputHelp();
  const text = help.join("\n");
  assert.doesNotMatch(text, /kubectl-bind/);
  const examples = text.match(/(?<=^ {2}kubectl bind ).*$/gm) ?? [];
  for (const command of createProgram(io).commands) {
    assert.ok(examples.some((line) => line.startsWith(command.name())), command.name());
  }
  for (const example of examples) {
    const [line = ""] = example.split(/ [>|]/);
    await t.step(line, async () => assert.equal((await parsed(line)).name, line.split(" ")[0]));
  }
});

Deno.test("createProgram() reads the flags of export in every spelling", async (t) => {
  const rows: [line: string, option: string, value: unknown][] = [
    ["export pg", "installKonnector", true],
    ["export pg --install-konnector", "installKonnector", true],
    ["export --install-konnector pg", "installKonnector", true],
    ["export pg --install-konnector=true", "installKonnector", true],
    ["export pg --install-konnector=false", "installKonnector", false],
    ["export pg -install-konnector=false", "installKonnector", false],
    ["export pg --no-install-konnector", "installKonnector", false],
    ["export pg -oyaml", "output", "yaml"],
    ["export pg -o=yaml", "output", "yaml"],
    ["export pg -o yaml", "output", "yaml"],
    ["export -o yaml pg", "output", "yaml"],
    ["export pg --output=yaml", "output", "yaml"],
    ["export pg --output yaml", "output", "yaml"],
    ["-o yaml export pg", "output", "yaml"],
    ["export pg --server x", "server", "x"],
    ["--server x export pg", "server", "x"],
    ["export pg --server=x", "server", "x"],
    ["export pg --ca-file ca.pem", "caFile", "ca.pem"],
  ];
  for (const [line, option, value] of rows) {
    await t.step(line, async () => {
      const { name, args, options } = await parsed(line);
      assert.deepEqual({ name, args }, { name: "export", args: ["pg"] });
      assert.equal(options?.[option], value);
    });
  }
});

Deno.test("completionOf() offers the candidates for the last word", async (t) => {
  const names = () => Promise.resolve(["widgets", "gears"]);
  const rows: [words: string[], expected: string[]][] = [
    [["ca"], ["catalog"]],
    [["log"], ["login", "logout"]],
    [["help", "cl"], ["clusters"]],
    [["export", ""], ["widgets", "gears"]],
    [["export", "wi"], ["widgets"]],
    [["--server", "x", "instances", "g"], ["gears"]],
    [["unbind", "w"], ["widgets"]],
    [["export", "widgets", ""], []],
    [["catalog", ""], []],
    [["frob", ""], []],
    [["catalog", "-o", ""], ["json", "yaml", "wide", "name"]],
    [["catalog", "-o", "n"], ["name"]],
    [["catalog", "--output=w"], ["--output=wide"]],
    [["catalog", "-o=w"], ["-o=wide"]],
    [["catalog", "--no"], ["--no-headers"]],
    [["catalog", "--se"], ["--server"]],
    [["completion", "z"], ["zsh"]],
    [["login", ""], []],
    [["export", "--install"], ["--install-konnector"]],
  ];
  for (const [words, expected] of rows) {
    await t.step(JSON.stringify(words), async () => {
      const { candidates, directive } = await completionOf(createProgram(silentIo()), words, names);
      assert.deepEqual(candidates.map(([value]) => value), expected);
      assert.equal(directive, "noFiles");
    });
  }
  await t.step("files where a file belongs", async () => {
    for (const words of [["login", "--ca-file", "x"], ["export", "--kubeconfig=x"]]) {
      const completion = await completionOf(createProgram(silentIo()), words, names);
      assert.deepEqual(completion, { candidates: [], directive: "files" });
    }
  });
});
