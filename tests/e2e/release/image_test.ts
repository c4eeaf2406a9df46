import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { BUILD_EXIT } from "../../../scripts/build/run_build.ts";
import { hostPlatform } from "../../../scripts/build/platforms.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { DAEMON_SCRIPT_FLAGS } from "../../../scripts/run_flags.ts";
import type { Catalog, ProviderInfo } from "../../../common/api/wire.ts";
import { fileSums, Folder, runProgram, runScript } from "../../support/worlds/build_world.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import {
  blobFile,
  containerCommand,
  mayChroot,
  type ReadImage,
  readImage,
  readSbom,
  unpackRoot,
} from "../../support/programs/image_root.ts";
import { Konnector } from "../../support/programs/konnector.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";

const MAX_BYTES = 150_000_000;
const { arch } = hostPlatform();
const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** The images, and the ports that their programs listen on. */
const IMAGES = {
  backend: ["8080/tcp", "8082/tcp", "8086/tcp"],
  konnector: ["8081/tcp", "8085/tcp"],
};

/** The files that we write. All others come from the build machine. */
const oursIn = (program: string) => [
  "etc/group",
  "etc/nsswitch.conf",
  "etc/passwd",
  `usr/bin/xbind-${program}`,
  `usr/lib/xbind/xbind-${program}.js`,
];
const hasDpkg = await runProgram("dpkg-query", ["--version"]).then(
  ({ code }) => code === 0,
  () => false,
);

/** Returns the sum from a mode and a sum, as `fileSums` lists them. */
const sumIn = (modeAndSum: string): string => modeAndSum.split(" ")[1] ?? "";

/** Unpacks an image of `deno task image`, and checks its layout, files, settings and size. */
async function checkImage(
  t: Deno.TestContext,
  folder: Folder,
  program: string,
  ports: readonly string[],
) {
  const layout = folder.at(`${program}-image`);
  const image = await readImage(layout);
  const root = folder.at(`${program}-root`);
  const isCompiled = image.run.Entrypoint.length === 1;
  await unpackRoot(layout, image, root);

  await t.step(
    `of the ${program} is only an OCI layout with correct digests and sizes`,
    async () => {
      const expected = new Set(["oci-layout", "index.json", "manifest.json"]);
      for (const blob of [image.manifest, image.config, ...image.layers]) {
        const file = blobFile(layout, blob);
        const content = await Deno.readFile(file);
        assert.equal(sha256(content), blob.digest);
        assert.equal(content.length, blob.size);
        expected.add(path.relative(layout, file));
      }
      assert.deepEqual(new Set(Object.keys(await fileSums(layout))), expected);
      for (const [index, layer] of image.layers.entries()) {
        const unpacked = gunzipSync(await Deno.readFile(blobFile(layout, layer)));
        assert.equal(sha256(unpacked), image.diffIds[index]);
      }
    },
  );

  await t.step(
    `of the ${program} holds only it, its libraries, certificates and a user`,
    async () => {
      const files = Object.keys(await fileSums(root));
      const others = files.filter((file) =>
        !/^(usr\/)?lib(64)?\/([\w-]+\/)?[\w.-]+\.so(\.\d+)?$/.test(file)
      );
      assert.deepEqual(others, [
        "etc/group",
        "etc/nsswitch.conf",
        "etc/passwd",
        "etc/ssl/certs/ca-certificates.crt",
        ...(isCompiled
          ? [`usr/bin/xbind-${program}`]
          : ["usr/bin/deno", `usr/lib/xbind/xbind-${program}.js`]),
      ]);
      const libraries = files.filter((file) => !others.includes(file)).map((file) =>
        path.basename(file)
      );
      assert.ok(
        libraries.includes("libc.so.6") && libraries.some((name) => name.startsWith("ld-linux")),
      );
      assert.ok(libraries.length <= 8, libraries.join());
      assert.match(
        await Deno.readTextFile(path.join(root, "etc", "passwd")),
        /^\w+:x:65532:65532:/,
      );
    },
  );

  await t.step(
    `of the ${program} has a bill of materials with every file and the origin of foreign files`,
    async () => {
      const sbom = await readSbom(`${layout}.spdx.json`);
      assert.deepEqual(sbom.programs, [`xbind-${program}`]);
      const files = Object.entries(await fileSums(root));
      assert.deepEqual(
        sbom.sums,
        Object.fromEntries(files.map(([file, sum]) => [file, sumIn(sum)])),
      );
      const foreign = files.map(([file]) => file).filter((file) => !oursIn(program).includes(file));
      assert.deepEqual([...sbom.origins.keys()].sort(), foreign.sort());
      for (const [file, { name, versionInfo, sourceInfo }] of sbom.origins) {
        if (file === "usr/bin/deno") {
          assert.equal(
            `${name} ${versionInfo}`,
            `deno ${Deno.version.deno}`,
          );
        } else if (hasDpkg) assert.ok(versionInfo, `${file} of ${name}: ${sourceInfo}`);
      }
      const libc = [...sbom.origins].find(([file]) => file.endsWith("/libc.so.6"))?.[1];
      if (hasDpkg) {
        assert.match(
          libc?.externalRefs?.[0]?.referenceLocator ?? "",
          /^pkg:deb\/.*\/libc6@/,
        );
      }
    },
  );

  await t.step(`of the ${program} runs as user 65532, with the flags that tests use`, () => {
    const { run, architecture } = image;
    assert.equal(run.User, "65532:65532");
    assert.equal(architecture, arch);
    if (!isCompiled) {
      assert.deepEqual(run.Entrypoint.slice(2, -1), DAEMON_SCRIPT_FLAGS);
      assert.equal(run.Entrypoint.at(-1), `/usr/lib/xbind/xbind-${program}.js`);
    }
    assert.deepEqual(Object.keys(run.ExposedPorts), ports);
    assert.equal(run.Labels["org.opencontainers.image.title"], `xbind-${program}`);
    assert.equal(run.Labels["org.opencontainers.image.version"], "1.2.3");
    assert.equal(run.Labels["org.opencontainers.image.licenses"], "Apache-2.0");
    assert.match(
      run.Labels["org.opencontainers.image.revision"] ?? "",
      /^([0-9a-f]{40}(-dirty)?)?$/,
    );
  });

  await t.step(`of the ${program} has at most 150 MB`, async () => {
    const sizes = await Promise.all(
      image.layers.map(async (layer) => (await Deno.stat(blobFile(layout, layer))).size),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total > 1_000_000 && total <= MAX_BYTES, `${total} bytes`);
  });
  return { image, root };
}

/** Returns how a container runtime starts the image's program, with a kubeconfig of this plane. */
async function inContainer(
  plane: ControlPlane,
  root: string,
  image: ReadImage,
) {
  const kubeconfig = await plane.kubeconfigFor("image", ["system:masters"]);
  // Container runtimes create this file as a mount point.
  await Deno.copyFile(kubeconfig, path.join(root, "kubeconfig"));
  await Deno.chmod(path.join(root, "kubeconfig"), 0o444);
  await Deno.copyFile("/etc/hosts", path.join(root, "etc", "hosts"));
  const env = Object.fromEntries(image.run.Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
  return {
    launch: [...await containerCommand(root, image.run), ...image.run.Entrypoint],
    kubeconfig: "/kubeconfig",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...env },
  };
}

/** Checks that a process has no rights, and a root that it cannot write. */
async function checkConfinement(pid: number): Promise<void> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  assert.match(status, /^Uid:\s65532\s65532\s65532\s65532$/m);
  assert.match(status, /^Groups:\s*$/m);
  assert.match(status, /^CapEff:\s0+$/m);
  assert.match(status, /^NoNewPrivs:\s1$/m);
  const mounts = await Deno.readTextFile(`/proc/${pid}/mountinfo`);
  assert.match(mounts, / \/ ro[, ]/);
}

Deno.test("deno task image", async (t) => {
  await using folder = await Folder.create();
  const built = await runScript("image.ts", ["--version=1.2.3", `--out=${folder.path}`]);
  assert.equal(built.code, BUILD_EXIT.ok, built.stderr);
  const images = {
    backend: await checkImage(t, folder, "backend", IMAGES.backend),
    konnector: await checkImage(t, folder, "konnector", IMAGES.konnector),
  };

  await t.step({
    name: "of the backend serves logins and binds with a read-only root and no capability",
    ignore: !await mayChroot(),
    async fn() {
      await using plane = await ownPlane();
      const { image, root } = images.backend;
      await using gateway = await Gateway.start(plane, await inContainer(plane, root, image));
      await checkConfinement(gateway.backend.pid);

      assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
      const info: ProviderInfo = await (await gateway.request("/api/provider")).json();
      assert.equal(info.version, "1.2.3");
      assert.match(await (await gateway.request("/")).text(), /<html/);
      const metrics = await fetch(new URL("/metrics", await gateway.backend.addressOf("/metrics")));
      assert.match(await metrics.text(), /^xbind_build_info\{version="1\.2\.3"\} 1$/m);

      using provider = await TestProvider.of(plane);
      await provider.define(WIDGETS);
      await provider.offerReady("widgets", [WIDGETS]);
      const { token } = await gateway.login();
      const catalog = await gateway.read<Catalog>(token, "/api/catalog");
      assert.deepEqual(catalog.exports.map(({ name }) => name), ["widgets"]);
      const { pickupURL } = await gateway.bind(token, "widgets");
      const bundle = await (await gateway.request(`/${pickupURL.replace(/^\//, "")}`)).text();
      assert.match(bundle, /^kind: ClusterBinding$/m);
      assert.equal(await gateway.backend.stop(), 0);
    },
  });

  await t.step({
    name: "of the konnector answers probes with a read-only root and no capability",
    ignore: !await mayChroot(),
    async fn() {
      await using plane = await ownPlane();
      const { image, root } = images.konnector;
      await using konnector = await Konnector.start(plane, await inContainer(plane, root, image));
      const metrics = await fetch(new URL("/metrics", await konnector.addressOf("/metrics")));
      assert.match(await metrics.text(), /^xbind_build_info\{version="1\.2\.3"\} 1$/m);
      const health = await fetch(new URL("/healthz", await konnector.addressOf("/healthz")));
      assert.equal(await health.text(), "ok");
      await checkConfinement(konnector.pid);
      assert.equal(await konnector.stop(), 0);
    },
  });
});

Deno.test("deno task image refuses bad input with one line, and leaves no files", async (t) => {
  await using folder = await Folder.create();
  const { usage, failed } = BUILD_EXIT;
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [["--from=x"], {}, usage, /Unknown option '--from'/],
    [["--form=rpm"], {}, usage, /--form "rpm" is neither executable nor script/],
    [["--program=cli"], {}, usage, /--program "cli" is not backend or konnector/],
    [["--rootfs=root"], {}, usage, /--rootfs needs --program/],
    [["--version=1"], {}, usage, /"1" is not a version/],
    [["--platform=linux/s390x"], {}, failed, /image for linux\/s390x on linux\/.*run the build on/],
    [["--form=executable"], { DENORT_BIN: "/absent" }, failed, /DENORT_BIN "\/absent"/],
  ];
  for (const [args, env, expected, message] of cases) {
    await t.step(JSON.stringify({ args, ...env }), async () => {
      const out = folder.at("out");
      const { code, stderr } = await runScript("image.ts", [`--out=${out}`, ...args], env);
      assert.equal(code, expected, stderr);
      assert.match(stderr, message);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
      const left = await Array.fromAsync(Deno.readDir(out)).catch(() => []);
      assert.deepEqual(left, []);
    });
  }
});
