import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { Canaries } from "../../support/programs/canaries.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { failure, Gateway, postJson } from "../../support/worlds/gateway_world.ts";
import { ProcessView } from "../../support/programs/process_view.ts";
import {
  baitedKubeconfigs,
  companionedKubeconfig,
} from "../../testdata/hostile_kubeconfigs/baited.ts";
import { HOSTILE_KUBECONFIGS } from "../../testdata/hostile_kubeconfigs/refused.ts";

const plane = await sharedProvider();

/** Collects the child processes of a process until it is disposed. */
function watchChildren(view: ProcessView) {
  const seen = new Set<number>();
  const timer = setInterval(() => view.children().forEach((child) => seen.add(child)), 1);
  return { seen, [Symbol.dispose]: () => clearInterval(timer) };
}

Deno.test("Canaries.touched() reports each use of a file, program or address", async () => {
  await using canaries = await Canaries.start();
  const path = canaries.file("token");
  await eventually("the file exists", () => Deno.lstatSync(path));
  assert.deepEqual(await canaries.touched(), []);
  assert.equal((await Deno.readTextFile(path)).trim(), canaries.text);
  (await Deno.connect({ hostname: "127.0.0.1", port: Number(canaries.address.split(":")[1]) }))
    .close();
  using children = watchChildren(new ProcessView(Deno.pid));
  await new Deno.Command(canaries.program, { args: ["x"], stdout: "null" }).output();
  await eventually("each use was reported", async () => {
    const touched = await canaries.touched();
    assert.deepEqual(touched, ["token was opened", "the program ran", "1 connections"]);
    return true;
  });
  canaries.file("never");
  await eventually("its writer is seen", () => children.seen.size > 0);
  assert.ok(new ProcessView(Deno.pid).faultsOfEndedChildren() > 0);
});

Deno.test("POST /api/apply runs no program, reads no file and calls no address of a bad kubeconfig", async (t) => {
  await using canaries = await Canaries.start();
  await using gateway = await Gateway.start(plane, {
    flags: ["--enable-issuer=false", "--enable-apply", "--zap-log-level=10"],
  });
  const { token } = await gateway.login();
  const view = new ProcessView(gateway.backend.pid);
  using children = watchChildren(view);
  const bait = {
    file: (name: string) => canaries.file(name),
    program: canaries.program,
    address: canaries.address,
  };
  const apply = (kubeconfig: string) =>
    gateway.as(token, "/api/apply", postJson({ kubeconfig, installKonnector: true }));

  await t.step("it refuses every bad kubeconfig", async () => {
    const baited = Object.entries(baitedKubeconfigs(bait));
    assert.ok(baited.length >= 40);
    for (const [name, kubeconfig] of baited) {
      const answer = await apply(kubeconfig);
      assert.equal(answer.status, 400, name);
      const message = await failure(answer, 400, /^Cannot use the submitted kubeconfig: /);
      for (const secret of [canaries.text, canaries.program, canaries.address]) {
        assert.ok(!message.includes(secret), message);
      }
    }
    const others = HOSTILE_KUBECONFIGS.filter(({ base64 }) =>
      base64 !== "" && base64.length < 1_000_000
    );
    for (const { name, base64, names } of others) {
      const answer = await apply(base64);
      assert.equal(answer.status, 400, name);
      await failure(answer, 400, names);
    }
    assert.deepEqual(await canaries.touched(), []);
  });

  await t.step(
    "it ignores the other users and clusters of a good kubeconfig",
    async () => {
      await failure(await apply(companionedKubeconfig(bait)), 502);
      const [connections, ...others] = await canaries.touched();
      assert.match(connections ?? "", /^\d connections$/);
      assert.deepEqual(others, []);
    },
  );

  await t.step("it started no process, and logged no secret", () => {
    assert.deepEqual([...children.seen], []);
    assert.equal(view.faultsOfEndedChildren(), 0);
    const log = gateway.backend.lines.join("\n");
    for (const secret of [canaries.text, canaries.program, "a.token", "-----BEGIN"]) {
      assert.ok(!log.includes(secret), secret);
    }
  });

  await t.step("it logged each refusal", () => {
    const lines = gateway.backend.log.filter(({ code }) => code === "kubeconfig");
    assert.ok(lines.length > 100);
    for (const { outcome, subject, requestId, reason } of lines) {
      assert.equal(outcome, "rejected");
      assert.ok(subject && requestId && reason);
    }
  });
});
