import assert from "node:assert/strict";
import { archiveWith, ReleaseMirror, sha256 } from "../../tests/support/peers/release_mirror.ts";
import { releaseArch } from "../tools/download_programs.ts";
import { readGoModule } from "../tools/go_module.ts";
import type { Progress } from "../tools/progress.ts";
import { controlPlaneBinaries, controlPlaneReleases } from "./binaries.ts";
import { BINARY_NAMES } from "./binary_names.ts";
import { freePort } from "./free_port.ts";

const arch = releaseArch();
const KUBERNETES = `dl.k8s.io/v1.36.3/bin/linux/${arch}`;

/** Stands in for Go: notes its calls, and builds by copying itself. */
const FAKE_GO = `#!/bin/sh
here=\${0%/*}
case "$1 $2" in
  "env GOVERSION") cat "$here/version"; exit ;;
  "env GOTOOLCHAIN") echo local; exit ;;
esac
echo "$1 CGO_ENABLED=$CGO_ENABLED" >> "$here/calls"
[ "$1" = build ] || exit 0
echo "$4" > "$here/linker-flags"
while [ "$1" != -o ]; do shift; done
echo "building $3"
case "$3" in *"$(cat "$here/fail" 2>/dev/null || echo none)") echo "it broke"; exit 1 ;; esac
echo "$3" > "$2"
`;

const setUp = async ({ version = "go1.26.0", fail = "" } = {}) => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-binaries-test-" });
  await Deno.mkdir(`${dir}/bin`);
  await Deno.writeTextFile(`${dir}/bin/go`, FAKE_GO, { mode: 0o755 });
  await Deno.writeTextFile(`${dir}/bin/version`, version);
  if (fail) await Deno.writeTextFile(`${dir}/bin/fail`, fail);
  const labels: string[] = [];
  const progress: Progress = {
    run: (label, work) => (labels.push(label), work(() => {})),
    note: (text) => labels.push(text),
  };
  const env = {
    PATH: `${dir}/bin:/usr/bin:/bin`,
    XBIND_CACHE_DIR: `${dir}/cache`,
    XBIND_DOWNLOAD_MIRROR: "off",
  };
  return {
    dir,
    env,
    labels,
    find: (more: Record<string, string> = {}) =>
      controlPlaneBinaries(progress, { ...env, ...more }),
    calls: () => Deno.readTextFile(`${dir}/bin/calls`).then((text) => text.trim().split("\n")),
    cached: async () => {
      const names: string[] = [];
      const root = `${dir}/cache/xbind/controlplane`;
      for await (const entry of Deno.readDir(root)) {
        if (!entry.isDirectory) continue;
        assert.doesNotMatch(entry.name, /partial/);
        for await (const file of Deno.readDir(`${root}/${entry.name}`)) names.push(file.name);
      }
      return names.sort();
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
};

const assetsWith = async (dir: string, names: readonly string[]): Promise<string> => {
  await Deno.mkdir(`${dir}/assets`);
  for (const name of names) await Deno.writeTextFile(`${dir}/assets/${name}`, "");
  return `${dir}/assets`;
};

/** A mirror with all official releases for this machine. Each says its name. */
const fullMirror = async (): Promise<ReleaseMirror> => {
  const mirror = await ReleaseMirror.start();
  const { version } = await readGoModule(import.meta.dirname ?? "", "go.etcd.io/etcd/server/v3");
  const etcd = `etcd-${version}-linux-${arch}`;
  const archive = await archiveWith(`${etcd}/etcd`, "the official etcd");
  const etcdFolder = `github.com/etcd-io/etcd/releases/download/${version}`;
  mirror.put(`${etcdFolder}/${etcd}.tar.gz`, archive);
  mirror.put(`${etcdFolder}/SHA256SUMS`, `${sha256(archive)}  ${etcd}.tar.gz\n`);
  for (const name of ["kube-apiserver", "kube-controller-manager", "kubectl"]) {
    mirror.put(`${KUBERNETES}/${name}`, `the official ${name}`);
    mirror.put(`${KUBERNETES}/${name}.sha256`, sha256(`the official ${name}`));
  }
  return mirror;
};

Deno.test("controlPlaneBinaries() builds once, one after the other, and then finds them", async () => {
  await using test = await setUp();
  const binaries = await test.find();
  for (const name of BINARY_NAMES) {
    assert.ok(binaries[name].startsWith(`${test.dir}/cache/xbind/controlplane/v1.36.3-`));
    assert.ok(binaries[name].endsWith(`/${name}`));
  }
  assert.deepEqual(test.labels.slice(1), [
    "[1/5] go modules",
    "[2/5] etcd",
    "[3/5] kube-apiserver",
    "[4/5] kube-controller-manager",
    "[5/5] kubectl",
  ]);
  assert.deepEqual(await test.calls(), [
    "mod CGO_ENABLED=0",
    ...new Array<string>(4).fill("build CGO_ENABLED=0"),
  ]);
  assert.deepEqual(await test.find(), binaries);
  assert.equal((await test.calls()).length, 5);
});

Deno.test("controlPlaneBinaries() stamps the version that kubectl shows", async () => {
  await using test = await setUp();
  await test.find();
  const flags = (await Deno.readTextFile(`${test.dir}/bin/linker-flags`)).trim().split(" ");
  for (const stamp of ["gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"]) {
    const index = flags.indexOf(`k8s.io/component-base/version.${stamp}`);
    assert.equal(flags[index - 1], "-X", stamp);
  }
});

Deno.test("controlPlaneBinaries() prefers the directory the environment names", async () => {
  await using test = await setUp();
  const assets = await assetsWith(test.dir, BINARY_NAMES);
  for (const variable of ["KUBEBUILDER_ASSETS", "XBIND_CONTROLPLANE_DIR"]) {
    const binaries = await test.find({ [variable]: assets });
    assert.equal(binaries["kube-controller-manager"], `${assets}/kube-controller-manager`);
  }
  assert.deepEqual(test.labels, []);
});

Deno.test("controlPlaneBinaries() builds only the controller manager for KUBEBUILDER_ASSETS", async () => {
  await using test = await setUp();
  const assets = await assetsWith(test.dir, ["etcd", "kube-apiserver", "kubectl"]);
  const binaries = await test.find({ KUBEBUILDER_ASSETS: assets });
  assert.equal(binaries.etcd, `${assets}/etcd`);
  assert.match(binaries["kube-controller-manager"], /cache\/xbind\/controlplane/);
  assert.deepEqual(await test.cached(), ["kube-controller-manager"]);
});

Deno.test("controlPlaneBinaries() names the files a given directory lacks", async () => {
  await using test = await setUp();
  const assets = await assetsWith(test.dir, ["etcd", "kubectl"]);
  await assert.rejects(test.find({ KUBEBUILDER_ASSETS: assets }), {
    message: `Cannot use KUBEBUILDER_ASSETS: there is no "${assets}/kube-apiserver"`,
  });
});

Deno.test("controlPlaneBinaries() says what to install without Go or with an old one", async () => {
  await using test = await setUp({ version: "go1.25.3" });
  await assert.rejects(test.find(), /the installed Go is 1\.25\.3\. Install Go 1\.26\.0 or newer/);
  await Deno.remove(`${test.dir}/bin/go`);
  await assert.rejects(
    test.find({ PATH: `${test.dir}/bin` }),
    /Go is not installed\. Install Go 1\.26\.0 or newer \(https:\/\/go\.dev\/dl\/\)/,
  );
});

Deno.test("controlPlaneBinaries() shows how a build failed, then goes on where it was", async () => {
  await using test = await setUp({ fail: "kube-controller-manager" });
  await assert.rejects(
    test.find(),
    /"go build" failed\nbuilding k8s\.io\/kubernetes\/cmd\/kube-controller-manager\nit broke$/,
  );
  assert.deepEqual(await test.cached(), ["etcd", "kube-apiserver"]);

  await Deno.remove(`${test.dir}/bin/fail`);
  await test.find();
  assert.deepEqual(await test.cached(), [...BINARY_NAMES].sort());
  assert.equal((await test.calls()).filter((call) => call.startsWith("build")).length, 5);
});

Deno.test("controlPlaneBinaries() waits while another process builds", async () => {
  await using test = await setUp();
  const [first, second] = await Promise.all([test.find(), test.find()]);
  assert.deepEqual(first, second);
  assert.equal((await test.calls()).length, 5);
  const waits = test.labels.filter((label) => label.startsWith("waiting"));
  assert.deepEqual(waits, ["waiting for another process that gets the control plane"]);
});

Deno.test({
  name: "controlPlaneBinaries() downloads official releases, and needs no Go then",
  ignore: !arch,
  fn: async () => {
    await using test = await setUp();
    await using mirror = await fullMirror();
    const env = { PATH: `${test.dir}/empty`, XBIND_DOWNLOAD_MIRROR: mirror.url };
    const [binaries, second] = await Promise.all([test.find(env), test.find(env)]);
    for (const name of BINARY_NAMES) {
      assert.equal(await Deno.readTextFile(binaries[name]), `the official ${name}`);
    }
    assert.deepEqual(second, binaries);
    assert.deepEqual(await test.cached(), [...BINARY_NAMES].sort());
    assert.equal(test.labels.filter((label) => label.startsWith("[")).length, 4);
  },
});

Deno.test({
  name: "controlPlaneBinaries() builds only the programs that it cannot download",
  ignore: !arch,
  fn: async (t) => {
    const spoil: Record<string, (mirror: ReleaseMirror) => void> = {
      "wrong sum": (mirror) => mirror.put(`${KUBERNETES}/kubectl`, "something else"),
      "cut off": (mirror) => mirror.put(`${KUBERNETES}/kubectl`, "the official kubectl", "cut off"),
      "absent": (mirror) => mirror.remove(`${KUBERNETES}/kubectl.sha256`),
    };
    for (const [name, act] of Object.entries(spoil)) {
      await t.step(name, async () => {
        await using test = await setUp();
        await using mirror = await fullMirror();
        act(mirror);
        const binaries = await test.find({ XBIND_DOWNLOAD_MIRROR: mirror.url });
        assert.equal(await Deno.readTextFile(binaries.etcd), "the official etcd");
        const built = await Deno.readTextFile(binaries.kubectl);
        assert.equal(built, "k8s.io/kubernetes/cmd/kubectl\n");
        assert.equal((await test.calls()).filter((call) => call.startsWith("build")).length, 1);
        const lines = test.labels.filter((label) => /^(Cannot|Building)/.test(label));
        assert.match(lines[0] ?? "", /^Cannot download kubectl: http:/);
        assert.match(lines[1] ?? "", /^Building kubectl v1\.36\.3 /);
        assert.equal(lines.length, 2);
      });
    }
  },
});

Deno.test({
  name: "controlPlaneBinaries() asks for Go only after it could not download",
  ignore: !arch,
  fn: async () => {
    await using test = await setUp();
    const mirror = `http://127.0.0.1:${freePort()}`;
    await assert.rejects(
      test.find({ PATH: `${test.dir}/empty`, XBIND_DOWNLOAD_MIRROR: mirror }),
      /^Error: Cannot build the control plane: Go is not installed\./,
    );
    assert.match(test.labels[0] ?? "", /^Cannot download etcd, kube-.*: 127.* cannot be reached: /);
  },
});

Deno.test("controlPlaneReleases() names the official addresses", () => {
  const versions = { kubernetes: "v1.2.3", etcd: "v3.4.5" };
  const { etcd, "kube-apiserver": apiServer } = controlPlaneReleases(versions, "arm64");
  assert.deepEqual(etcd, {
    url: "https://github.com/etcd-io/etcd/releases/download/v3.4.5/etcd-v3.4.5-linux-arm64.tar.gz",
    sums: "https://github.com/etcd-io/etcd/releases/download/v3.4.5/SHA256SUMS",
    member: "etcd-v3.4.5-linux-arm64/etcd",
  });
  assert.deepEqual(apiServer, {
    url: "https://dl.k8s.io/v1.2.3/bin/linux/arm64/kube-apiserver",
    sums: "https://dl.k8s.io/v1.2.3/bin/linux/arm64/kube-apiserver.sha256",
  });
});
