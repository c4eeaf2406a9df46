import assert from "node:assert/strict";
import path from "node:path";
import { BUILD_EXIT } from "../../../scripts/build/run_build.ts";
import { hostPlatform, platformName } from "../../../scripts/build/platforms.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  copySources,
  fileSums,
  Folder,
  runProgram,
  runScript,
  STAND_IN_RUNTIME,
  untar,
} from "../../support/worlds/build_world.ts";

const HOST = platformName(hostPlatform());
const PROGRAMS = ["kubectl-bind", "xbind-backend", "xbind-konnector"];
const DATE = { SOURCE_DATE_EPOCH: "1700000000" };
const isRoot = Deno.uid() === 0;

/** Makes a repository of a copy of the sources, with one commit. */
async function commitAll(tree: string): Promise<void> {
  await Deno.writeTextFile(path.join(tree, ".gitignore"), "/dist/\n/ui/embedded.ts*\n");
  const steps = [["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=all"]];
  for (const step of steps) {
    const args = ["-c", "user.name=x", "-c", "user.email=x@x", ...step];
    const { code, stderr } = await runProgram("git", args, { cwd: tree });
    assert.equal(code, 0, stderr);
  }
}

Deno.test("deno task build writes the same bytes in every directory,", async (t) => {
  await using folder = await Folder.create();
  const env = { ...DATE, DENORT_BIN: STAND_IN_RUNTIME };
  const args = ["--archives", "--version=1.2.3"];
  const first = await runScript("build.ts", [...args, `--out=${folder.at("dist")}`], env);
  assert.equal(first.code, BUILD_EXIT.ok, first.stderr);
  const dist = folder.at("dist");
  const sums = await fileSums(dist);

  await t.step("as a release from a commit of another copy of the sources", async () => {
    const tree = folder.at("another", "place");
    await copySources(tree);
    await commitAll(tree);
    const second = await runScript("build.ts", ["--release", ...args], env, tree);
    assert.equal(second.code, BUILD_EXIT.ok, second.stderr);
    assert.deepEqual(await fileSums(path.join(tree, "dist")), sums);
  });

  await t.step("and only packed scripts, maps, executables and archives", () => {
    const names = new Set(
      Object.keys(sums).map((name) => name.replace(/\/[^/]*[A-Z0-9]{8}\.js/, "/*.js")),
    );
    assert.deepEqual([...names].sort(), [
      "archives/SHA256SUMS",
      "archives/bind.yaml",
      `archives/kubectl-bind_1.2.3_${HOST}.tar.gz`,
      `archives/xbind-backend_1.2.3_${HOST}.tar.gz`,
      `archives/xbind-konnector_1.2.3_${HOST}.tar.gz`,
      "archives/xbind_1.2.3.spdx.json",
      "archives/xbind_1.2.3_source-maps.tar.gz",
      "cli/*.js",
      "cli/*.js.map",
      "cli/kubectl-bind",
      "cli/kubectl_complete-bind",
      "cli/main.js",
      "cli/main.js.map",
      "kubectl-bind",
      "xbind-backend",
      "xbind-backend.js",
      "xbind-backend.js.map",
      "xbind-konnector",
      "xbind-konnector.js",
      "xbind-konnector.js.map",
    ]);
  });

  await t.step("with sums that sha256sum accepts", async () => {
    const checked = await runProgram("sha256sum", ["--check", "--strict", "SHA256SUMS"], {
      cwd: path.join(dist, "archives"),
    });
    assert.equal(checked.code, 0, checked.stderr);
    assert.equal(checked.stdout.trim().split("\n").length, 6);
  });

  await t.step("with the executables and the licence in the archives", async () => {
    await untar(path.join(dist, "archives", `kubectl-bind_1.2.3_${HOST}.tar.gz`), folder.at("cli"));
    const unpacked = await fileSums(folder.at("cli"));
    assert.deepEqual(Object.keys(unpacked), ["LICENSE", "kubectl-bind", "kubectl_complete-bind"]);
    assert.equal(unpacked["kubectl-bind"], sums["kubectl-bind"]);
    assert.match(unpacked["kubectl_complete-bind"] ?? "", /^755 /);
  });

  await t.step("with source maps that name the sources by relative paths only", async () => {
    for (const [name, folder] of [["xbind-backend", "server"], ["xbind-konnector", "konnector"]]) {
      const { sources, sourcesContent } = JSON.parse(
        await Deno.readTextFile(path.join(dist, `${name}.js.map`)),
      );
      assert.equal(sourcesContent, undefined);
      assert.ok(sources.includes(`../${folder}/main.ts`), sources.slice(-3).join());
      for (const source of sources) {
        assert.match(source, /^\.\.\/(common|server|konnector|ui|crds|node_modules|deno\.json)/);
        assert.doesNotMatch(source, /\/yaml\/dist\//, "YAML is packed as CommonJS");
      }
    }
  });

  await t.step("with source maps of all programs in one archive", async () => {
    const archive = path.join(dist, "archives", "xbind_1.2.3_source-maps.tar.gz");
    await untar(archive, folder.at("maps"));
    const maps = Object.keys(await fileSums(folder.at("maps")));
    for (const name of ["cli/main.js.map", "xbind-backend.js.map", "xbind-konnector.js.map"]) {
      assert.ok(maps.includes(name), name);
    }
  });

  await t.step("with a bill of materials of all programs", async () => {
    const file = path.join(dist, "archives", "xbind_1.2.3.spdx.json");
    const { relationships } = JSON.parse(await Deno.readTextFile(file));
    const described = relationships.flatMap((one: Record<string, string>) =>
      one["relationshipType"] === "DESCRIBES" ? [one["relatedSpdxElement"]] : []
    );
    assert.deepEqual(described, [
      "SPDXRef-Package-xbind-backend",
      "SPDXRef-Package-xbind-konnector",
      "SPDXRef-Package-kubectl-bind",
    ]);
  });

  await t.step("with the given version", async () => {
    for (const name of ["xbind-backend", "xbind-konnector"]) {
      const script = path.join(dist, `${name}.js`);
      const flags = ["run", "--allow-env", "--allow-read", "--no-config", script];
      const { stdout } = await runProgram(Deno.execPath(), [...flags, "--version"], { cwd: dist });
      assert.equal(stdout, `${name} 1.2.3\n`);
    }
    const client = await runProgram(path.join(dist, "cli", "kubectl-bind"), ["--version"], {
      env: { PATH: `${path.dirname(Deno.execPath())}:/usr/bin:/bin` },
    });
    assert.equal(client.stdout, "kubectl bind 1.2.3\n");
  });
});

Deno.test("deno task build --all makes archives for every platform and lists them for krew", async () => {
  await using folder = await Folder.create();
  const { code, stdout } = await runScript("build.ts", [
    "--all",
    "--archives",
    `--out=${folder.at("d")}`,
  ]);
  // Without a compile runtime, the archives hold the packed scripts.
  assert.ok(code === BUILD_EXIT.ok || code === BUILD_EXIT.noCompileRuntime, stdout);
  if (code === BUILD_EXIT.noCompileRuntime) {
    assert.match(stdout, /executables are not, as Deno could not get its runtime/);
    assert.match(stdout, /DENORT_BIN/);
  }
  for (const name of code === BUILD_EXIT.ok ? PROGRAMS : []) {
    const version = await runProgram(folder.at("d", name), ["--version"], { cwd: folder.path });
    assert.match(version.stdout, / 0\.0\.0\n$/, version.stderr);
  }
  const names = [...Deno.readDirSync(folder.at("d", "archives"))].map(({ name }) => name);
  const ofPlatforms = names.filter((name) =>
    PROGRAMS.some((program) => name.startsWith(`${program}_0.0.0_`))
  );
  assert.equal(ofPlatforms.length, 18);
  assert.deepEqual(
    ofPlatforms.filter((name) => name.endsWith(".zip")).sort(),
    PROGRAMS.flatMap((name) => [
      `${name}_0.0.0_windows_amd64.zip`,
      `${name}_0.0.0_windows_arm64.zip`,
    ]),
  );
  const manifest = await Deno.readTextFile(folder.at("d", "archives", "bind.yaml"));
  assert.equal([...manifest.matchAll(/^ +uri: /gm)].length, 6);
});

Deno.test("deno task build refuses bad input with one line, and does not change dist/", async (t) => {
  await using folder = await Folder.create();
  const dist = folder.at("dist");
  await Deno.mkdir(dist);
  await Deno.writeTextFile(path.join(dist, "xbind-backend"), "of an earlier build");
  await Deno.writeTextFile(folder.at("script"), "#!/bin/sh\n".padEnd(100));
  const foreign = new Uint8Array(64);
  foreign.set([0x7f, 0x45, 0x4c, 0x46]);
  foreign[18] = Deno.build.arch === "x86_64" ? 0xb7 : 0x3e;
  await Deno.writeFile(folder.at("foreign"), foreign);
  const { usage, failed } = BUILD_EXIT;
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [["--al"], {}, usage, /Unknown option '--al'/],
    [["dist"], {}, usage, /Unexpected argument 'dist'/],
    [["--version=v1.2.3"], {}, usage, /"v1\.2\.3" is not a version/],
    [[], { XBIND_VERSION: "latest" }, usage, /"latest" is not a version/],
    [[], { SOURCE_DATE_EPOCH: "today" }, usage, /SOURCE_DATE_EPOCH "today"/],
    [["--release"], {}, usage, /--release needs --version/],
    [["--allow-dirty"], {}, usage, /--allow-dirty needs --release/],
    [[], { DENORT_BIN: folder.at("absent") }, failed, /DENORT_BIN ".*absent" cannot be read/],
    [[], { DENORT_BIN: folder.at("script") }, failed, /DENORT_BIN ".*script" is no executable/],
    [[], { DENORT_BIN: folder.at("foreign") }, failed, /Cannot compile for .*DENORT_BIN.* is for/],
  ];
  for (const [args, env, expected, message] of cases) {
    await t.step(JSON.stringify({ args, ...env }), async () => {
      const result = await runScript("build.ts", [`--out=${dist}`, ...args], env);
      assert.equal(result.code, expected, result.stderr);
      assert.match(result.stderr, message);
      assert.equal(result.stderr.trim().split("\n").length, 1, result.stderr);
      assert.deepEqual([...Deno.readDirSync(dist)].map(({ name }) => name), ["xbind-backend"]);
    });
  }
});

Deno.test("deno task build --release refuses sources", async (t) => {
  await using folder = await Folder.create();
  const tree = folder.at("tree");
  await copySources(tree);
  const build = (env: Record<string, string> = {}, ...args: string[]) =>
    runScript("build.ts", ["--release", "--version=1.0.0", ...args], env, tree);

  await t.step("without version control", async () => {
    const { code, stderr } = await build({ GIT_CEILING_DIRECTORIES: folder.path });
    assert.equal(code, BUILD_EXIT.failed);
    assert.match(stderr, /^Cannot make a release: git does not know/);
  });
  await t.step("without git", async () => {
    const { code, stderr } = await build({ PATH: folder.path });
    assert.equal(code, BUILD_EXIT.failed);
    assert.match(stderr, /is git installed/);
  });
  await commitAll(tree);
  await Deno.writeTextFile(path.join(tree, "server", "new.ts"), "");
  await t.step("with uncommitted changes", async () => {
    const { code, stderr } = await build();
    assert.equal(code, BUILD_EXIT.failed);
    assert.match(stderr, /uncommitted changes \(server\/new\.ts\).*--allow-dirty/);
    assert.throws(() => Deno.statSync(path.join(tree, "dist")), Deno.errors.NotFound);
  });
  await t.step("unless --allow-dirty", async () => {
    const { code, stderr } = await build({ DENORT_BIN: STAND_IN_RUNTIME }, "--allow-dirty");
    assert.equal(code, BUILD_EXIT.ok, stderr);
  });
});

Deno.test({
  name: "deno task build reports a full disk in one line and leaves no files",
  ignore: !isRoot,
  async fn(t) {
    await using folder = await Folder.create();
    const dist = folder.at("dist");
    await Deno.mkdir(dist);
    // Deno itself stands in for a compile runtime, because it has the same size.
    for (const [size, step] of [["3m", "get the packages"], ["150m", "compile"]]) {
      await t.step(`of ${size}, while it tries to ${step}`, async () => {
        const build = `mount -t tmpfs -o size=${size},nr_inodes=20k none ${dist} &&
          { ${Deno.execPath()} run -A --quiet scripts/build.ts --out=${dist}; echo "exit $?"; ls -A ${dist}; }`;
        const { stdout, stderr } = await runProgram("unshare", ["-m", "sh", "-c", build], {
          env: { NO_COLOR: "1", DENORT_BIN: Deno.execPath() },
        });
        assert.equal(stdout, "exit 1\n", stderr);
        assert.match(stderr, new RegExp(`^Cannot ${step}.*No space left on device`));
        assert.equal(stderr.trim().split("\n").length, 1, stderr);
      });
    }
  },
});

Deno.test("deno task build leaves no files when it is interrupted", async () => {
  await using folder = await Folder.create();
  const dist = folder.at("dist");
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "scripts/build.ts", `--out=${dist}`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await eventually("the build has written files", () => [...Deno.readDirSync(dist)].length > 0);
  child.kill("SIGTERM");
  const { code } = await child.status;
  assert.equal(code, 130);
  assert.deepEqual([...Deno.readDirSync(dist)], []);
});
