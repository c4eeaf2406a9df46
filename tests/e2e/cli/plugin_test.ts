import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { parse } from "yaml";
import { krewFaults } from "../../../scripts/build/krew_manifest.ts";
import { hostPlatform, platformName } from "../../../scripts/build/platforms.ts";
import { controlPlaneBinaries } from "../../../scripts/controlplane/binaries.ts";
import {
  Folder,
  type ProgramResult,
  runProgram,
  runScript,
  SOURCES,
  untar,
} from "../../support/worlds/build_world.ts";

const ARCHIVE = `kubectl-bind_1.2.3_${platformName(hostPlatform())}.tar.gz`;
const INSTALL = path.join(SOURCES, "deploy", "install.sh");
const BASICS = `${path.dirname(Deno.execPath())}:/usr/local/bin:/usr/bin:/bin`;

/** Serves a folder on loopback, with the given files replaced. */
function serveArchives(
  dir: string,
  changed: ReadonlyMap<string, Uint8Array<ArrayBuffer>> = new Map(),
) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const name = new URL(request.url).pathname.slice(1);
    const content = changed.get(name) ??
      await Deno.readFile(path.join(dir, name)).catch(() => undefined);
    return content ? new Response(content) : new Response("absent", { status: 404 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const install = (
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ProgramResult> =>
  runProgram("sh", [INSTALL, ...args], {
    clearEnv: true,
    env: { PATH: BASICS, HOME: "/nowhere", ...env },
  });

Deno.test("the plugin's archive", async (t) => {
  await using folder = await Folder.create();
  const { stdout } = await runScript("build.ts", [
    "--archives",
    "--version=1.2.3",
    `--out=${folder.path}`,
    "--download-url=https://dl.example.org/v1.2.3",
  ]);
  assert.match(stdout, /archives/);
  const archives = folder.at("archives");
  const { kubectl } = await controlPlaneBinaries();
  const kubectlWith = (dir: string, ...args: string[]) =>
    runProgram(kubectl, args, {
      clearEnv: true,
      env: { PATH: `${dir}:${BASICS}`, HOME: folder.path, DENO_DIR: folder.at("deno") },
    });

  await t.step("works as `kubectl bind` from any directory on PATH", async () => {
    await untar(path.join(archives, ARCHIVE), folder.at("somewhere"));
    const version = await kubectlWith(folder.at("somewhere"), "bind", "--version");
    assert.equal(version.stdout, "kubectl bind 1.2.3\n", version.stderr);
    const plugins = await kubectlWith(folder.at("somewhere"), "plugin", "list");
    assert.match(plugins.stdout, /somewhere\/kubectl-bind$/m);
  });

  await t.step("works through a symbolic link, as krew installs it", async () => {
    await Deno.mkdir(folder.at("links"));
    await Deno.symlink(folder.at("somewhere", "kubectl-bind"), folder.at("links", "kubectl-bind"));
    const version = await kubectlWith(folder.at("links"), "bind", "--version");
    assert.equal(version.stdout, "kubectl bind 1.2.3\n", version.stderr);
  });

  await t.step("completes `kubectl bind`", async () => {
    const { stdout } = await kubectlWith(folder.at("somewhere"), "__complete", "bind", "cat");
    assert.match(stdout, /^catalog\b/m);
  });

  await t.step("matches the URL and the sum in the krew manifest", async () => {
    const manifest = parse(await Deno.readTextFile(path.join(archives, "bind.yaml")));
    assert.deepEqual(krewFaults("bind", manifest), []);
    const [platform] = manifest.spec.platforms;
    assert.equal(platform.uri, `https://dl.example.org/v1.2.3/${ARCHIVE}`);
    const content = await Deno.readFile(path.join(archives, ARCHIVE));
    assert.equal(platform.sha256, createHash("sha256").update(content).digest("hex"));
    await Deno.stat(folder.at("somewhere", platform.bin));
  });

  await t.step("is installed by install.sh, also over an earlier installation", async () => {
    await using server = serveArchives(archives);
    const dir = folder.at("bin");
    for (const args of [["--dir", dir], [`--dir=${dir}`]]) {
      const { code, stdout, stderr } = await install(args, { XBIND_BASE_URL: server.url });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Installed kubectl bind 1\.2\.3 in .*bin\nAdd it to PATH/);
      const names = [...Deno.readDirSync(dir)].map(({ name }) => name).sort();
      assert.deepEqual(names.filter((name) => name !== "kubectl-bind.lib"), [
        "kubectl-bind",
        "kubectl_complete-bind",
      ]);
    }
    assert.equal((await kubectlWith(dir, "bind", "--version")).stdout, "kubectl bind 1.2.3\n");
  });

  const content = await Deno.readFile(path.join(archives, ARCHIVE));
  const tampered = content.slice();
  tampered[100] = (tampered[100] ?? 0) ^ 1;
  const sums = await Deno.readTextFile(path.join(archives, "SHA256SUMS"));
  const text = (value: string) => new TextEncoder().encode(value);
  const hostile: [string, string, Uint8Array<ArrayBuffer>, RegExp][] = [
    ["a changed archive", ARCHIVE, tampered, /the SHA-256 sum of \S+ is [0-9a-f]+, not [0-9a-f]+/],
    ["an archive cut short", ARCHIVE, content.slice(0, 500), /the SHA-256 sum/],
    ["sums without the archive", "SHA256SUMS", text(""), /has no archive for/],
    ["sums with it listed twice", "SHA256SUMS", text(sums + sums), /has several archives for/],
    [
      "sums that name a path",
      "SHA256SUMS",
      text(sums.replaceAll("  kubectl-bind_", "  ../kubectl-bind_")),
      /has no archive for/,
    ],
    ["an HTML page instead of sums", "SHA256SUMS", text("<html>"), /has no archive for/],
  ];
  for (const [what, name, served, message] of hostile) {
    await t.step(`is refused by install.sh: ${what}`, async () => {
      await using server = serveArchives(archives, new Map([[name, served]]));
      await refused(["--base-url", server.url], {}, message);
    });
  }

  await t.step("is not installed by install.sh if SHA256SUMS is missing", async () => {
    await using server = serveArchives(folder.at("links"));
    await refused(["--base-url", server.url], {}, /SHA256SUMS cannot be downloaded/);
  });

  const machines: [string, string, RegExp][] = [
    ["Linux", "riscv64", /no archive for the architecture "riscv64"/],
    ["FreeBSD", "amd64", /no archive for the system "FreeBSD"/],
  ];
  for (const [system, machine, message] of machines) {
    await t.step(`is not installed by install.sh on ${system} ${machine}`, async () => {
      await using tools = await Folder.create();
      const uname = `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`;
      await Deno.writeTextFile(tools.at("uname"), uname, { mode: 0o755 });
      await refused(
        ["--base-url=http://127.0.0.1:9"],
        { PATH: `${tools.path}:${BASICS}` },
        message,
      );
    });
  }

  for (const lacking of [["curl", "wget"], ["sha256sum", "shasum"], ["tar"]]) {
    await t.step(`is not installed by install.sh without ${lacking.join(" and ")}`, async () => {
      await using tools = await Folder.create();
      for (
        const tool of ["sh", "uname", "curl", "sha256sum", "tar", "sed", "mktemp", "mkdir", "rm"]
      ) {
        if (!lacking.includes(tool)) {
          const { stdout } = await runProgram("sh", ["-c", `command -v ${tool}`]);
          await Deno.symlink(stdout.trim(), tools.at(tool));
        }
      }
      const message = new RegExp(`${lacking[0]}.* (is|are) (not )?installed`);
      await refused(["--base-url=http://127.0.0.1:9"], { PATH: tools.path }, message);
    });
  }

  await t.step("is not installed by install.sh with an unknown argument", async () => {
    await refused(["--force"], {}, /unknown argument "--force"/);
  });

  async function refused(args: string[], env: Record<string, string>, message: RegExp) {
    await using target = await Folder.create();
    const { code, stdout, stderr } = await install([`--dir=${target.path}`, ...args], env);
    assert.equal(code, 1, stdout);
    assert.match(stderr, message);
    assert.match(stderr, /^Cannot install kubectl bind: .*\n$/m);
    assert.deepEqual([...Deno.readDirSync(target.path)], []);
  }
});
