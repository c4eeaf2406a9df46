import assert from "node:assert/strict";
import { KONNECTOR_IMAGE } from "../../../common/api/names.ts";
import { CLUSTER_ROLES } from "../../../common/api/resources.ts";
import { commands } from "../../../ui/logic/commands.ts";
import { konnectorDeployment, makeAvailable } from "../../support/peers/available_konnector.ts";
import { CliWorld, KONNECTOR, SERVED_IMAGE } from "../../support/worlds/cli_world.ts";

const APPLIED = KONNECTOR.map((name) => `${name} applied`);
const OTHER_IMAGE = "registry.example.org/konnector:other";

Deno.test("kubectl bind connect", async (t) => {
  await using world = await CliWorld.start();
  const noServer = { env: { HOME: `${world.user.home}/absent` } };
  const image = async () => {
    const { spec } = await konnectorDeployment(world.kube);
    return spec.template.spec?.containers[0]?.image;
  };

  await t.step("changes nothing with --dry-run", async () => {
    const writes = await world.writesDuring(async () => {
      for (const spelling of ["--dry-run", "--dry-run=client", "--dry-run=server"]) {
        const lines = await world.lines(["connect", spelling]);
        assert.deepEqual(lines, KONNECTOR.map((name) => `${name} would be created`));
      }
      await world.fails(["connect", "--dry-run=maybe"], 2, /=client, =server or =none/);
    });
    assert.deepEqual(writes, []);
  });

  await t.step("installs its own manifest without a server", async () => {
    assert.deepEqual(await world.lines(["connect"], noServer), APPLIED);
    assert.equal(await image(), KONNECTOR_IMAGE);
  });

  await t.step(
    "installs the manifest of the gateway, and warns that it replaces an image",
    async () => {
      const { code, stdout, stderr } = await world.kubectl(["bind", "connect"]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.split("\n"), [...APPLIED, ""]);
      assert.equal(await image(), SERVED_IMAGE);
      assert.ok(stderr.includes(`Warning: it replaces the konnector image ${KONNECTOR_IMAGE}\n`));
    },
  );

  await t.step("warns of nothing and changes nothing the second time", async () => {
    const before = await konnectorDeployment(world.kube);
    const { stderr } = await world.bind(["connect"]);
    assert.doesNotMatch(stderr, /Warning/);
    const after = await konnectorDeployment(world.kube);
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
  });

  await t.step("leaves the flags and replicas that people set with kubectl", async () => {
    const set = [
      "kubectl -n xbind set env deployment/konnector XBIND_CLUSTER_NAME=prod-eu XBIND_LEADER_ELECT=true",
      "kubectl -n xbind scale deployment/konnector --replicas=2",
    ];
    for (const line of set) {
      const { code, stderr } = await world.shell(line);
      assert.equal(code, 0, stderr);
    }
    for (const command of [["connect"], ["export", "widgets"]]) await world.lines(command);
    const { spec } = await konnectorDeployment(world.kube);
    assert.deepEqual(spec.template.spec?.containers[0]?.env, [
      { name: "XBIND_CLUSTER_NAME", value: "prod-eu" },
      { name: "XBIND_LEADER_ELECT", value: "true" },
    ]);
    assert.equal(spec.replicas, 2);
    await world.lines(["unbind", "widgets"]);
    const undo = "kubectl -n xbind set env deployment/konnector " +
      "XBIND_CLUSTER_NAME- XBIND_LEADER_ELECT- && " +
      "kubectl -n xbind scale deployment/konnector --replicas=1";
    assert.equal((await world.shell(undo)).code, 0);
  });

  await t.step("installs the image of --konnector-image, even if the server is down", async () => {
    await world.lines(["connect", "--konnector-image", OTHER_IMAGE]);
    assert.equal(await image(), OTHER_IMAGE);
    const dead = ["connect", "--server=http://127.0.0.1:1", `--konnector-image=${SERVED_IMAGE}`];
    await world.lines(dead);
    assert.equal(await image(), SERVED_IMAGE);
    await world.fails(["connect", "--konnector-image", "two words"], 2, /not an image name/);
  });

  await t.step("installs a konnector that the commands of the UI can upgrade", async () => {
    const { installKonnector, installKonnectorFile } = commands;
    const manifest = await (await world.gateway.request("/api/konnector")).text();
    await Deno.writeTextFile(`${world.user.home}/konnector.yaml`, manifest);
    for (
      const line of [installKonnector(world.gateway.url), installKonnectorFile("konnector.yaml")]
    ) {
      await world.lines(["connect", "--konnector-image", OTHER_IMAGE]);
      const unforced = await world.shell(line.replace(" --force-conflicts", ""));
      assert.equal(unforced.code, 1);
      assert.match(unforced.stderr, /Apply failed with \d+ conflicts?: .*"xbind-installer"/);
      assert.equal(await image(), OTHER_IMAGE);
      const { code, stdout, stderr } = await world.shell(line);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^deployment\.apps\/konnector serverside-applied$/m);
      assert.equal(await image(), SERVED_IMAGE);
    }
    await world.lines(["connect"]);
  });

  await t.step(
    "gives the konnector rights on bound APIs only, if asked, and keeps to it",
    async () => {
      const groups = async () => {
        const { rules = [] } = await world.kube.get(CLUSTER_ROLES, { name: "konnector" });
        return rules.flatMap(({ apiGroups = [] }) => apiGroups)
          .filter((group) => group === "*" || group === "example.org");
      };
      assert.deepEqual(await groups(), ["*"]);
      const { stderr } = await world.bind(["connect", "--bound-groups"]);
      assert.match(stderr, /Konnector rights: bound APIs only \(nothing is bound yet\)/);
      assert.deepEqual(await groups(), []);
      const bound = await world.bind(["export", "widgets"]);
      assert.match(bound.stderr, /Konnector rights: bound APIs only \(group example\.org\)/);
      assert.deepEqual(await groups(), ["example.org"]);
      await world.lines(["connect"]);
      assert.deepEqual(await groups(), ["example.org"]);
      await world.lines(["connect", "--bound-groups=false"]);
      assert.deepEqual(await groups(), ["*"]);
      await world.lines(["export", "widgets", "--bound-groups"]);
      assert.deepEqual(await groups(), ["example.org"]);
      await world.lines(["unbind", "widgets"]);
      await world.lines(["connect"]);
      assert.deepEqual(await groups(), []);
      await world.lines(["connect", "--no-bound-groups"]);
    },
  );

  await t.step("fails if the server cannot be reached", async () => {
    const dead = ["connect", "--server=http://127.0.0.1:1"];
    const writes = await world.writesDuring(() => world.fails(dead, 1, /connection refused/));
    assert.deepEqual(writes, []);
  });

  await t.step("waits until the konnector is available", async () => {
    await world.fails(
      ["connect", "--wait", "--timeout=5s"],
      5,
      /Deployment\/konnector has no status/,
    );
    await using running = world.startBind(["connect", "--wait", "--timeout=60s"]);
    await running.said(/Waiting for Deployment\/konnector/);
    await makeAvailable(world.kube);
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
  });
});
