import assert from "node:assert/strict";
import { CLI_ENTRY } from "../../../scripts/build/pack.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Catalog } from "../../../common/api/wire.ts";
import { cliScripts, CliUser } from "../../support/programs/cli.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { startTlsFront } from "../../support/peers/tls_front.ts";

/** consumer_examples_test.ts runs the examples of these commands. */
const NEED_A_CONSUMER = ["connect", "export", "unbind", "doctor"];

Deno.test("kubectl bind has working help and completion", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  await using front = await startTlsFront(gateway.url, ["127.0.0.1"]);
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS], { title: "Widgets" });
  const { token } = await gateway.login();
  await eventually("the catalog has the Export", async () => {
    return (await gateway.read<Catalog>(token, "/api/catalog")).exports.length === 1;
  });
  const env = { XBIND_SERVER: gateway.url, XBIND_TOKEN: token };

  await t.step("every example in --help works", async () => {
    await using user = await CliUser.create();
    await Deno.copyFile(front.caFile, `${user.home}/ca.pem`);
    const help = await user.output(["--help"]);
    const commands = [...help.matchAll(/^ {2}(\w+) .*$/gm)].map(([, name = ""]) => name)
      .filter((name) => name !== "kubectl" && name !== "help");
    assert.ok(commands.includes("login") && commands.includes("completion"), help);
    let count = 0;
    for (const command of ["", ...commands]) {
      if (NEED_A_CONSUMER.includes(command)) continue;
      const text = await user.output([...command.split(" ").filter(Boolean), "--help"]);
      for (const example of text.match(/(?<=^ {2}kubectl bind ).*$/gm) ?? []) {
        if (NEED_A_CONSUMER.includes(example.split(" ")[0] ?? "")) continue;
        const args = example
          .replace(/(?:https:\/\/)?bind\.example\.org/, gateway.url)
          .split(" ");
        const { code, stderr } = await user.run(args, { env, stdin: `${token}\n` });
        assert.equal(code, 0, `${example}: ${stderr}`);
        count++;
      }
    }
    assert.ok(count >= 15, `${count} examples were run`);
  });

  await t.step("the real kubectl finds the plugin on PATH", async () => {
    await using user = await CliUser.create();
    const kubectl = (...args: string[]) => user.runWithPlugin(plane.kubectlPath, args, { env });
    const { stdout } = await kubectl("bind", "--version");
    assert.match(stdout, /^kubectl bind \d+\.\d+\.\d+\n$/);
    assert.match((await kubectl("bind", "catalog", "-oname")).stdout, /\/widgets$/m);
    const wrong = await kubectl("bind", "catlog");
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /Did you mean "catalog"/);
    const list = await kubectl("plugin", "list");
    assert.match(list.stdout, /\/kubectl-bind$/m);
    assert.equal(list.code, 0, list.stderr); // it fails if a plugin cannot be executed
  });

  await t.step("the real kubectl completes commands, flags and Export names", async () => {
    await using user = await CliUser.create();
    const complete = async (...words: string[]) => {
      const args = ["__complete", "bind", ...words];
      const { stdout } = await user.runWithPlugin(plane.kubectlPath, args, { env });
      return stdout.trimEnd().split("\n").map((line) => line.split("\t")[0]);
    };
    assert.deepEqual(await complete("cata"), ["catalog", ":4"]);
    assert.deepEqual(await complete("export", ""), ["widgets", ":4"]);
    assert.deepEqual(await complete("export", "x"), [":4"]);
    assert.deepEqual(await complete("catalog", "-o", "n"), ["name", ":4"]);
    assert.deepEqual(await complete("login", "--no"), ["--no-browser", ":4"]);
  });

  await t.step("completion prints no error without a gateway", async () => {
    await using user = await CliUser.create();
    for (const args of [["export", ""], ["export", "--server", "http://127.0.0.1:1", ""]]) {
      const { code, stdout, stderr } = await user.run(["__complete", ...args]);
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: ":4\n", stderr: "" });
    }
  });

  await t.step("bash completes with the printed script", async () => {
    await using user = await CliUser.create();
    const completed = async (...words: string[]) => {
      const list = words.map((word) => `'${word}'`).join(" ");
      const script = `source <(kubectl-bind completion bash)
        COMP_WORDS=(kubectl-bind ${list}); COMP_CWORD=${words.length}
        _kubectl_bind; echo "\${COMPREPLY[*]}"`;
      const result = await user.runWithPlugin("/bin/bash", ["-c", script], { env });
      assert.equal(result.stderr, "");
      return result.stdout.trim();
    };
    assert.equal(await completed("cata"), "catalog");
    assert.equal(await completed("instances", ""), "widgets");
    assert.equal(await completed("catalog", "--output", "=", "js"), "json");
    assert.equal(await completed("catalog", "--output", "="), "json yaml wide name");
  });
});

Deno.test("kubectl bind loads Kubernetes code and YAML only for commands that need them", async () => {
  const scripts = await cliScripts();
  const copy = await Deno.makeTempDir({ prefix: "xbind-poisoned-" });
  try {
    const poisoned: string[] = [];
    for await (const { name, isFile } of Deno.readDir(scripts)) {
      if (!isFile) continue;
      const text = await Deno.readTextFile(`${scripts}/${name}`);
      const isHeavy = /certificate-authority-data|managedFields|Document with errors/.test(text);
      if (isHeavy) poisoned.push(name);
      const poison = `\nthrow new Error("${name} was loaded");\n`;
      await Deno.writeTextFile(`${copy}/${name}`, isHeavy ? text + poison : text);
    }
    assert.ok(poisoned.length >= 2, "the scripts with Kubernetes code and with YAML were found");
    await using user = await CliUser.create(copy);
    await user.saveSession("http://127.0.0.1:1", "a-token");
    for (
      const args of [["--version"], ["--help"], ["version", "--client"], ["completion", "zsh"]]
    ) {
      await user.output(args);
    }
    for (const command of ["catalog", "clusters", "instances", "whoami", "login"]) {
      assert.match((await user.run([command])).stderr, /connection refused/, command);
    }
    await user.output(["logout"]);
    const needed = await user.run(["doctor"]);
    assert.match(needed.stderr, /was loaded/, "the poison works");
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});

Deno.test("kubectl bind --version loads no Node module, because that would double its time", async () => {
  const scripts = await cliScripts();
  const loaded = new Set<string>();
  const load = async (file: string): Promise<void> => {
    if (loaded.has(file)) return;
    loaded.add(file);
    const text = await Deno.readTextFile(`${scripts}/${file}`);
    assert.doesNotMatch(text, /from *"node:/, file);
    for (const [, part = ""] of text.matchAll(/(?:from|import) *"\.\/([^"]+)"/g)) await load(part);
  };
  await load(CLI_ENTRY);
  assert.ok(loaded.size >= 2, "the scripts that the entry imports were found");
});
