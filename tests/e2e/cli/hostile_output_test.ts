import assert from "node:assert/strict";
import { parse } from "yaml";
import type { LoginIo } from "../../../cli/terminal/io.ts";
import { createOutput } from "../../../cli/terminal/output.ts";
import { createProgram } from "../../../cli/program.ts";
import { runProgram } from "../../../cli/run_program.ts";
import { type CliResult, CliUser } from "../../support/programs/cli.ts";
import {
  assertHarmless,
  type Malice,
  MARK,
  POISON,
  PoisonedConsumer,
  PoisonedGateway,
} from "../../support/peers/poisoned_peers.ts";

/** The escape sequences that we write to a terminal ourselves. */
const OWN_SEQUENCES = [
  "\u001b[31merror:\u001b[39m",
  "\u001b[32mok     \u001b[39m",
  "\u001b[31mfailed \u001b[39m",
  "\u001b[2mskipped\u001b[22m",
  "\r\u001b[K",
];
/** A value that has the form of a session. */
const SESSION = `${btoa('{"alg":"dir","typ":"xbind+session"}').replaceAll("=", "")}..aXY.Yw.dGFn`;
const LISTS = [[], ["-o", "wide"], ["-o", "name"], ["-o", "json"], ["-o", "yaml"], ["-o", POISON]];
const QUICK = "--timeout=600ms";

/** The command lines of every command, without its name. A new command needs some here. */
const CASES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  login: [["--no-browser"], [POISON], ["http://a", "--server", POISON]],
  logout: [["--all"], ["--server", POISON]],
  whoami: [[], ["-o", "json"], ["-o", "yaml"]],
  catalog: [...LISTS, [POISON]],
  connect: [
    ["--dry-run"],
    [QUICK],
    ["--wait", QUICK],
    ["--context", POISON],
    ["--context", `no${POISON}`],
    ["--kubeconfig", POISON],
    ["--konnector-image", POISON],
    ["--timeout", POISON],
  ],
  export: [
    ["widgets", "--dry-run"],
    ["widgets", QUICK],
    ["widgets", "--wait", QUICK],
    ["widgets", "-o", "yaml"],
    ["evi", QUICK],
    ["evi", "--dry-run"],
    [POISON, QUICK],
    [POISON, "-o", "yaml"],
  ],
  unbind: [["widgets", "--dry-run"], ["widgets", QUICK], [POISON, QUICK]],
  clusters: LISTS,
  instances: [...LISTS, ...LISTS.map((form) => ["widgets", ...form]), ["evi"], [POISON]],
  doctor: [[], ["-o", "json"]],
  version: [[], ["--client"]],
  completion: [["bash"], ["zsh"], ["fish"], ["powershell"], [POISON]],
};
/** Command lines that belong to no command above. */
const OTHERS: readonly (readonly string[])[] = [
  [],
  ["--help"],
  ["--version", "--client"],
  ["help"],
  ["help", POISON],
  [POISON],
  [`--${POISON}`],
  ["catalog", `--${POISON}=x`],
  ["catalog", `--no-headers=${POISON}`],
  ["catalog", "--server", POISON],
  ["catalog", "--ca-file", POISON],
  ["__complete", ""],
  ["__complete", "export", ""],
  ["__complete", "export", "e"],
  ["__complete", POISON, ""],
];

Deno.test("kubectl bind prints no control character that it received", async (t) => {
  await using gateway = await PoisonedGateway.start();
  await using consumer = await PoisonedConsumer.start();
  await using user = await CliUser.create();
  const KUBECONFIG = `${user.home}/kubeconfig`;
  await Deno.writeTextFile(KUBECONFIG, consumer.kubeconfig);
  const servers = { [gateway.url]: { token: SESSION }, [POISON]: { token: SESSION } };
  const env = { XBIND_SERVER: gateway.url, XBIND_TOKEN: SESSION, KUBECONFIG };
  /** Creates a home for each command line, so that they can run in parallel. */
  const newHome = async () => {
    const HOME = await Deno.makeTempDir({ dir: user.home });
    await Deno.mkdir(`${HOME}/.config/xbind`, { recursive: true });
    const saved = JSON.stringify({ current: gateway.url, servers });
    await Deno.writeTextFile(`${HOME}/.config/xbind/config.json`, saved);
    return { ...env, HOME };
  };

  /** Runs a command line in this process, where stdout and stderr may be a terminal. */
  const run = async (args: readonly string[], isTerminal: boolean): Promise<CliResult> => {
    const env = await newHome();
    const written = { stdout: "", stderr: "" };
    const terminal = { stdin: false, stdout: isTerminal, stderr: isTerminal };
    const io: LoginIo = {
      ...createOutput({ env, isTerminal: terminal }, (to, text) => void (written[to] += text)),
      args,
      env,
      isTerminal: terminal,
      now: () => new Date(),
      signal: new AbortController().signal,
      platform: "linux",
      async *lines() {
        yield POISON;
        yield SESSION;
      },
      openBrowser: () => Promise.resolve(false),
    };
    return { code: await runProgram(io), ...written };
  };
  const assertSafe = (args: readonly string[], { stdout, stderr }: CliResult) => {
    const what = JSON.stringify(args);
    for (const text of [stdout, stderr]) {
      let rest = OWN_SEQUENCES.reduce((left, own) => left.replaceAll(own, ""), text);
      if (args[0] === "__complete") rest = rest.replaceAll("\t", "");
      assertHarmless(rest, what);
    }
  };
  const lines = Object.entries(CASES)
    .flatMap(([name, rest]) => [...rest, ["--help"]].map((args) => [name, ...args]));

  await t.step("every command has cases in this test", () => {
    const { commands } = createProgram({} as LoginIo);
    assert.deepEqual(commands.map((each) => each.name()).sort(), Object.keys(CASES).sort());
  });

  const malices: [gateway: Malice, consumer: Malice][] = [
    ["texts", "texts"],
    ["texts", "everything"],
    ["texts", 403],
    ["texts", 422],
    ["everything", "texts"],
    ...[401, 404, 502].map((status): [Malice, Malice] => [status, "texts"]),
  ];
  const told = new Set<string>();
  const drawn = new Set<string>();
  for (const [ofGateway, ofConsumer] of malices) {
    await t.step(`the gateway: ${ofGateway}, the cluster: ${ofConsumer}`, async () => {
      Object.assign(gateway, { malice: ofGateway });
      Object.assign(consumer, { malice: ofConsumer });
      await Promise.all([...lines, ...OTHERS].map(async (args) => {
        const [seen, piped] = await Promise.all([run(args, true), run(args, false)]);
        for (const result of [seen, piped]) assertSafe(args, result);
        const all = seen.stdout + seen.stderr;
        if (all.includes(MARK)) told.add(args[0] ?? "");
        for (const own of OWN_SEQUENCES) if (all.includes(own)) drawn.add(own);
        assert.ok(!(piped.stdout + piped.stderr).includes("\u001b"), "no colours in a pipe");
      }));
    });
  }
  await t.step("every command prints some received text, in colour on a terminal", () => {
    assert.deepEqual(Object.keys(CASES).filter((name) => !told.has(name)), []);
    assert.deepEqual(OWN_SEQUENCES.filter((own) => !drawn.has(own)), []);
  });

  await t.step("-o json and -o yaml hold the unchanged data", async () => {
    Object.assign(gateway, { malice: "texts" });
    Object.assign(consumer, { malice: "texts" });
    const inside = JSON.stringify(POISON).slice(1, -1);
    for (const name of ["whoami", "catalog", "clusters", "instances"]) {
      const json = JSON.parse((await run([name, "-o", "json"], true)).stdout);
      assert.ok(JSON.stringify(json).includes(inside), name);
      assert.deepEqual(parse((await run([name, "-o", "yaml"], true)).stdout), json, name);
    }
    const bundle = (await run(["export", "widgets", "-o", "yaml"], true)).stdout.split("---\n");
    assert.ok(JSON.stringify(parse(bundle.at(-1) ?? "")).includes(inside));
  });

  await t.step("the packed program prints no control character either", async () => {
    for (const [name, [args = []]] of Object.entries(CASES)) {
      const options = { env: await newHome(), stdin: `${SESSION}\n` };
      const result = await user.run([name, ...args], options);
      assertSafe([name, ...args], result);
    }
  });
});
