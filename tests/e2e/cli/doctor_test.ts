import assert from "node:assert/strict";
import { makeAvailable } from "../../support/peers/available_konnector.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  CRDS,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import type { Check } from "../../../cli/run/checks.ts";
import { customType, readyCondition, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";

Deno.test("kubectl bind doctor", async (t) => {
  await using world = await CliWorld.start();
  const { grant } = world;

  /** Runs the doctor, demands this exit code, and returns its lines by check. */
  const checkUp = async (code: number, env: Record<string, string> = {}) => {
    const { stdout, stderr, code: ended } = await world.bind(["doctor"], { env });
    assert.equal(ended, code, stdout + stderr);
    return new Map(
      stdout.split("\n").slice(0, -1).map((line) => {
        const [, status = "", check = "", detail = ""] = /^(\w+) +(\w+(?: \w+)?) {2,}(.*)$/
          .exec(line) ?? assert.fail(line);
        return [check, `${status}: ${detail}`];
      }),
    );
  };

  await t.step("reports a missing konnector on a new cluster, with the remedy", async () => {
    const lines = await checkUp(1);
    assert.match(lines.get("gateway") ?? "", /^ok: http:\/\/127\.0\.0\.1:\d+ answers as "xbind"/);
    assert.match(lines.get("session") ?? "", /^ok: you are jane\.doe@example\.com/);
    assert.match(lines.get("gateway clock") ?? "", /^ok: it differs from ours by \d+ s$/);
    assert.match(lines.get("consumer") ?? "", /^ok: context "admin@own" .* Kubernetes v1\./);
    assert.match(lines.get("consumer clock") ?? "", /^ok: it differs from ours by \d+ s$/);
    assert.match(lines.get("rights") ?? "", /^ok: /);
    assert.match(
      lines.get("konnector") ?? "",
      /^failed: it is not installed\. Run: kubectl bind c/,
    );
    assert.equal(lines.get("connections"), "ok: there are none yet");
    assert.match(lines.get("heartbeat") ?? "", /^skipped: no Connection on this cluster/);
    assert.equal(lines.size, 10);
  });

  await t.step("reports the failed checks of a konnector that does not run", async () => {
    await world.lines(["export", "widgets"]);
    await world.judge(CONNECTIONS, "False", "no route");
    const lines = await checkUp(1);
    assert.match(lines.get("konnector") ?? "", /^failed: it does not run, image .*:served: /);
    const unready = `failed: Connection/${grant} Ready=False (Unreachable): no route. Check`;
    assert.ok(lines.get("connections")?.startsWith(unready), [...lines].join("\n"));
    assert.match(lines.get("clusterbindings") ?? "", /^failed: .* has no status yet/);
    assert.match(
      lines.get("heartbeat") ?? "",
      /^failed: the provider never got a heartbeat of widgets-/,
    );
  });

  await t.step("reports no failure on a working cluster", async () => {
    await world.judge(CONNECTIONS, "True", "");
    await world.judge(CLUSTER_BINDINGS, "True", "");
    const { metadata } = await world.kube.get(NAMESPACES, { name: "kube-system" });
    const bundle = objectsIn((await world.bind(["export", "widgets", "-oyaml"])).stdout);
    using konnector = await TestKonnector.start(bundle, metadata.uid ?? "");
    await konnector.beat();
    const outside = await checkUp(0);
    assert.equal(outside.get("konnector"), "ok: it runs, but not as a pod of this cluster");
    await makeAvailable(world.kube);
    const lines = await checkUp(0);
    assert.deepEqual([...lines.values()].filter((line) => !line.startsWith("ok: ")), []);
    assert.match(lines.get("konnector") ?? "", /^ok: it runs, image .*:served$/);
    assert.equal(lines.get("heartbeat"), `ok: the provider gets heartbeats of ${grant}`);
  });

  await t.step("finds heartbeats under the identity that the konnector found", async () => {
    const clusterUid = crypto.randomUUID();
    const { apiVersion, kind } = await world.kube.get(CONNECTIONS, { name: grant });
    await world.kube.applyStatus(CONNECTIONS as ResourceType, {
      apiVersion,
      kind,
      metadata: { name: grant },
      status: { localClusterUID: clusterUid },
    } as KubeObject, FIELD_MANAGERS.cli);
    const silent = await checkUp(1);
    assert.match(silent.get("heartbeat") ?? "", /^failed: the provider never got a heartbeat/);
    const bundle = objectsIn((await world.bind(["export", "widgets", "-oyaml"])).stdout);
    using konnector = await TestKonnector.start(bundle, clusterUid);
    await konnector.beat();
    const lines = await checkUp(0);
    assert.equal(lines.get("heartbeat"), `ok: the provider gets heartbeats of ${grant}`);
  });

  await t.step("prints the same checks as JSON", async () => {
    const { stdout } = await world.bind(["doctor", "-o", "json"]);
    const { checks }: { checks: Check[] } = JSON.parse(stdout);
    assert.deepEqual(new Set(checks.map(({ status }) => status)), new Set(["ok"]));
    assert.equal(checks.length, 10);
  });

  await t.step("explains conditions and objects, each with its remedy in one line", async () => {
    const judge = async (type: ResourceType, conditions: [string, string, string, string][]) => {
      const found = await world.kube.get(type, { name: grant });
      await world.kube.applyStatus(type, {
        apiVersion: found.apiVersion,
        kind: found.kind,
        metadata: { name: grant },
        status: {
          conditions: conditions.map(([type, status, reason, message]) => ({
            ...readyCondition(found, { status: status as "True", reason, message }),
            type,
          })),
        },
      } as KubeObject, FIELD_MANAGERS.issuer);
    };
    await judge(CONNECTIONS as ResourceType, [
      ["Ready", "False", "CredentialsRejected", "401"],
      ["SecretValid", "True", "ExpiresSoon", "it expires at noon"],
      ["SchemaInSync", "False", "APINotExported", "it is withdrawn"],
    ]);
    await judge(CLUSTER_BINDINGS as ResourceType, [
      ["Ready", "True", "AsExpected", ""],
      ["Conflicts", "True", "ForeignObjectExists", "widgets.example.org: 1 in conflict"],
    ]);
    await world.pull(["taken", "large", "fine"]);
    const mark = (name: string, annotations: Record<string, string>) =>
      world.kube.patchFields(
        customType(WIDGETS),
        { name, namespace: "default" },
        { metadata: { annotations } },
        FIELD_MANAGERS.konnector,
      );
    await mark("taken", { [ANNOTATIONS.conflict]: "ForeignObjectExists" });
    await mark("large", { [ANNOTATIONS.syncError]: "size 50 is\n\u001b[31m too large" });
    const { stdout, stderr, code } = await world.bind(["doctor"]);
    assert.equal(code, 1, stderr);
    for (
      const line of [
        /^failed +connections +Connection\/\S+ Ready=False \(CredentialsRejected\): 401\. The Grant or its token is gone\. Bind again/m,
        /^warning +connections +.* SecretValid=True \(ExpiresSoon\): it expires at noon\. .*Bind again/m,
        /^warning +connections +.* SchemaInSync=False \(APINotExported\): .*ask the provider$/m,
        /^warning +clusterbindings +.* Conflicts=True .*Adopt/m,
        /^warning +objects +widgets\.example\.org default\/taken: ForeignObjectExists\. .*rename/m,
        /^warning +objects +widgets\.example\.org default\/large: Rejected: size 50 is �?.*too large\. Change the object/m,
      ]
    ) assert.match(stdout, line);
    assert.ok(!/fine/.test(stdout) && !stdout.includes("\u001b"), stdout);
    assert.match(stderr, /^error: 1 of 14 checks failed$/m);
    await judge(CONNECTIONS as ResourceType, [
      ["Ready", "False", "DrainingBindings", "Bindings still use it: a"],
      ["SecretValid", "False", "SecretNotFound", "the Secret does not exist"],
      ["Connected", "False", "SecretNotFound", "the Secret does not exist"],
    ]);
    await judge(CLUSTER_BINDINGS as ResourceType, [
      ["Ready", "True", "AsExpected", ""],
      [
        "Synced",
        "True",
        "AsExpected",
        "widgets.example.org: 3 copies on the provider have no object",
      ],
    ]);
    const { stdout: leaving } = await world.bind(["doctor"]);
    for (
      const line of [
        /^failed +connections +.* Ready=False \(DrainingBindings\)/m,
        /^warning +connections +.* SecretValid=False \(SecretNotFound\): .*Bind again/m,
        /^warning +clusterbindings +.* Synced=True .*: 3 copies .* no object\. .*XBIND_LEFTOVERS=delete$/m,
      ]
    ) assert.match(leaving, line);
    assert.doesNotMatch(leaving, /Connected=False/, "the same cause is told once");
    await judge(CLUSTER_BINDINGS as ResourceType, [
      ["Ready", "True", "AsExpected", ""],
      ["Conflicts", "True", "ForeignObjectExists", "widgets.example.org: 1 in conflict"],
      ["Synced", "True", "AsExpected", ""],
    ]);
    await judge(CONNECTIONS as ResourceType, [["Ready", "True", "AsExpected", ""]]);
    const { code: fine } = await world.bind(["doctor"]);
    assert.equal(fine, 0, "warnings are no failures");
    await world.kube.delete(CRDS, { name: WIDGETS });
  });

  await t.step("continues after the gateway, the session or the cluster fails", async () => {
    const noGateway = await checkUp(1, { XBIND_SERVER: "http://127.0.0.1:1" });
    assert.match(noGateway.get("gateway") ?? "", /^failed: .*connection refused/);
    assert.match(noGateway.get("connections") ?? "", /^ok: /);
    const noSession = await checkUp(1, { XBIND_TOKEN: "nonsense" });
    assert.match(noSession.get("session") ?? "", /^failed: .*not valid.*XBIND_TOKEN/);
    assert.match(noSession.get("heartbeat") ?? "", /^skipped: /);
    const noCluster = await checkUp(1, { KUBECONFIG: `${world.user.home}/absent` });
    assert.match(noCluster.get("consumer") ?? "", /^failed: .*no file of KUBECONFIG exists/);
    assert.match(noCluster.get("rights") ?? "", /^skipped: /);
    assert.match(noCluster.get("session") ?? "", /^ok: /);
  });

  await t.step("lists the missing rights", async () => {
    const KUBECONFIG = await world.consumerPlane.kubeconfigFor("powerless");
    const lines = await checkUp(1, { KUBECONFIG });
    const missing = lines.get("rights") ?? "";
    assert.match(missing, /^failed: you may not .*create deployments\.apps in namespace "xbind"/);
    assert.match(missing, /patch secrets in namespace "xbind"/);
    assert.match(lines.get("konnector") ?? "", /^failed: .*forbidden/);
  });
});
