import assert from "node:assert/strict";
import { parse, stringify } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLUSTER_BINDINGS, CONNECTIONS } from "../../../common/api/resources.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import { sleep } from "../../../common/time/wait.ts";
import { makeAvailable } from "../../support/peers/available_konnector.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";

/** Writes the consumer's kubeconfig with its context renamed to `dev`, as in the examples. */
async function asDev(world: CliWorld): Promise<string> {
  const config = parse(await Deno.readTextFile(world.consumerPlane.adminKubeconfig));
  const [{ context }] = config.contexts;
  const file = `${world.user.home}/dev.kubeconfig`;
  const contexts = [{ name: "dev", context }];
  await Deno.writeTextFile(file, stringify({ ...config, contexts, "current-context": "dev" }));
  return file;
}

/** Plays the konnector and the Deployment controller until the signal aborts. */
async function playKonnector(world: CliWorld, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await makeAvailable(world.kube).catch(expectNotFound); // not installed yet
    for (const type of [CONNECTIONS, CLUSTER_BINDINGS]) {
      const found = await world.bound(type);
      if (!found) continue;
      await world.judgeFound(type, found, "True", "").catch(expectNotFound); // just unbound
    }
    await sleep(200);
  }
}

function expectNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

Deno.test("kubectl bind runs the examples of connect, export, unbind and doctor in --help", async (t) => {
  await using world = await CliWorld.start();
  const env = { KUBECONFIG: await asDev(world) };
  const stop = new AbortController();
  const playing = playKonnector(world, stop.signal);
  try {
    for (const command of ["connect", "export", "unbind", "doctor"]) {
      const help = (await world.lines([command, "--help"])).join("\n");
      const examples = help.match(/(?<=^ {2}kubectl bind ).*$/gm) ?? [];
      assert.ok(examples.length >= 2, help);
      for (const example of examples) {
        await t.step(`kubectl bind ${example}`, async () => {
          const [line = "", file] = example.split(" > ");
          const { code, stdout, stderr } = await world.bind(line.split(" "), { env });
          // The doctor fails because no real konnector sends heartbeats.
          if (command === "doctor") assert.match(stdout, /heartbeat/i, stderr);
          else assert.equal(code, 0, stderr);
          if (file) assert.match(stdout, /^kind: ClusterBinding$/m);
        });
      }
    }
    await eventually(
      "unbind has deleted every object",
      async () => (await world.boundKinds()).length === 0,
    );
  } finally {
    stop.abort();
    await playing;
  }
});
