import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  DEPLOYMENTS,
  GRANTS,
  NAMESPACES,
  type ResourceType,
  SECRETS,
} from "../../../common/api/resources.ts";
import type {
  ApplyRequest,
  ApplyResult,
  Identity,
  ProviderInfo,
} from "../../../common/api/wire.ts";
import { grantName } from "../../../common/api/names.ts";
import { ownPlane, sharedConsumer } from "../../support/planes/control_planes.ts";
import { failure, Gateway, okJson, postJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { sealedSessions, sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { accountToken, connect, uniqueName } from "../../support/planes/kube.ts";
import { submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";
import { KONNECTOR } from "../../support/worlds/cli_world.ts";
import { HOSTILE_KUBECONFIGS } from "../../testdata/hostile_kubeconfigs/refused.ts";

const consumerPlane = await sharedConsumer();
const IMAGE = "registry.example.org/konnector:v1";

/** A kubeconfig as callers send it; its parts can be replaced. */
const sent = async (
  plane: ControlPlane,
  edit: Partial<Parameters<typeof kubeconfigFor>[0]> = {},
) =>
  submitted(kubeconfigFor({
    cluster: "consumer",
    server: plane.server,
    caPem: plane.caPem,
    user: "admin",
    credentials: await plane.userCertificate("admin", ["system:masters"]),
    ...edit,
  }));

/** A server that accepts connections and never answers. */
function silentServer() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const taken: Deno.Conn[] = [];
  const accepted = Promise.withResolvers<void>();
  const run = (async () => {
    for await (const connection of listener) {
      taken.push(connection);
      if (taken.length === 4) accepted.resolve();
    }
  })();
  return {
    server: `https://127.0.0.1:${listener.addr.port}`,
    /** Resolves at the fourth connection. */
    whenFull: accepted.promise,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of taken) connection.close();
      await run;
    },
  };
}

Deno.test("POST /api/apply", async (t) => {
  await using plane = await ownPlane();
  const flags = ["--enable-apply", `--konnector-image=${IMAGE}`];
  const { env, seal } = await sealedSessions();
  await using gateway = await Gateway.start(plane, { flags, env });
  using provider = await TestProvider.of(plane);
  using consumer = await connect(consumerPlane);
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS]);
  await provider.offer("unready", ["absent.example.org"]);
  const { token } = await gateway.login();
  const { subject } = await gateway.read<Identity>(token, "/api/me");
  const grant = grantName("widgets", subject);
  const bundle = [`Secret/${grant}`, `Connection/${grant}`, `ClusterBinding/${grant}`];
  const post = (body: unknown) => gateway.as(token, "/api/apply", postJson(body));
  const apply = async (request: ApplyRequest) =>
    (await okJson<ApplyResult>(await post(request))).applied;
  const kubeconfig = await sent(consumerPlane);

  await t.step("installs only the konnector", async () => {
    assert.deepEqual(await apply({ kubeconfig, installKonnector: true }), KONNECTOR);
    assert.deepEqual(await apply({ kubeconfig, installKonnector: true, export: "" }), KONNECTOR);
    const { spec } = await consumer.kube.get(DEPLOYMENTS, {
      name: "konnector",
      namespace: "xbind",
    });
    assert.ok(JSON.stringify(spec).includes(IMAGE));
    assert.equal((await provider.kube.list(GRANTS)).length, 0);
  });

  await t.step("applies only a bundle, with the token of an account", async () => {
    const account = uniqueName("applier");
    const binding = ["create", "clusterrolebinding", account, "--clusterrole=cluster-admin"];
    await consumerPlane.kubectl([...binding, `--serviceaccount=default:${account}`]);
    const credentials = { token: await accountToken(consumer.kube, "default", account) };
    const request = { export: "widgets", kubeconfig: await sent(consumerPlane, { credentials }) };
    assert.deepEqual(await apply(request), ["Namespace/xbind", ...bundle]);
    const secret = await consumer.kube.get(SECRETS, { name: grant, namespace: "xbind" });
    const inside = Buffer.from(secret.data?.["kubeconfig"] ?? "", "base64").toString();
    assert.ok(inside.includes(plane.server));
    const connection = await consumer.kube.get(CONNECTIONS, { name: grant });
    assert.equal(connection.spec.kubeconfigSecretRef.name, grant);
    await consumerPlane.kubectl(["delete", "clusterrolebinding", account]);
  });

  await t.step("applies konnector and bundle, and leaves no pickup", async () => {
    const all = await apply({ kubeconfig, export: "widgets", installKonnector: true });
    assert.deepEqual(all, [...KONNECTOR, ...bundle]);
    const { metadata } = await provider.kube.get(GRANTS, { name: grant });
    assert.ok(!JSON.stringify(metadata.annotations ?? {}).includes("pickup"));
  });

  await t.step("answers 400 when there is nothing to do", async () => {
    for (const rest of [{}, { export: "" }, { installKonnector: false }]) {
      await failure(await post({ kubeconfig, ...rest }), 400, /nothing to do/);
    }
  });

  await t.step("answers 400 to a body that is not an apply", async () => {
    const bodies: [body: unknown, names: RegExp][] = [
      [{}, /"kubeconfig"/],
      [{ kubeconfig: "" }, /"kubeconfig"/],
      [{ kubeconfig: 7 }, /"kubeconfig"/],
      [{ kubeconfig: {}, export: "widgets" }, /"kubeconfig"/],
      [{ kubeconfig, export: ["widgets"] }, /"export"/],
      [{ kubeconfig, export: null, installKonnector: true }, /"export"/],
      [{ kubeconfig, installKonnector: "true" }, /"installKonnector"/],
      [[], /not a JSON object/],
    ];
    for (const [body, names] of bodies) await failure(await post(body), 400, names);
    const init = { method: "POST", body: "{" };
    await failure(await gateway.as(token, "/api/apply", init), 400, /not JSON/);
    const large = { kubeconfig: "A".repeat(1024 * 1024), export: "widgets" };
    await failure(await post(large), 413);
  });

  await t.step("answers 400 to a hostile kubeconfig, and names the fault", async () => {
    // The step before covers the others, which are no valid bodies.
    const sendable = HOSTILE_KUBECONFIGS.filter(({ base64 }) =>
      base64 !== "" && base64.length < 1_000_000
    );
    assert.ok(sendable.length >= 30);
    for (const { name, base64, names } of sendable) {
      const answer = await post({ kubeconfig: base64, export: "widgets" });
      assert.equal(answer.status, 400, name);
      await failure(answer, 400, names);
    }
  });

  await t.step("answers 400 to a denied address", async () => {
    for (const host of ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.1.1]", "2851995905"]) {
      const denied = await sent(consumerPlane, { server: `https://${host}:6443` });
      await failure(await post({ kubeconfig: denied, export: "widgets" }), 400, /server leads to/);
    }
  });

  await t.step("answers 502 to an unusable consumer, without quoting it", async () => {
    const reachable = { export: "widgets" };
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr;
    free.close();
    const consumers: [edit: Parameters<typeof sent>[1], reason: RegExp][] = [
      [{ server: `https://127.0.0.1:${port}` }, /cannot be reached$/],
      [{ server: "https://absent.invalid:6443" }, /cannot be looked up$/],
      [{ server: gateway.url.replace("http:", "https:") }, /apply Namespace\/xbind/],
      [{ caPem: plane.caPem }, /certificate is not trusted$/],
      [{ credentials: { token: "wrong" } }, /does not accept the credentials$/],
      [{ credentials: await consumerPlane.userCertificate("nobody") }, /may not do that$/],
    ];
    for (const [edit, reason] of consumers) {
      const answer = await post({ ...reachable, kubeconfig: await sent(consumerPlane, edit) });
      const message = await failure(answer, 502, reason);
      assert.doesNotMatch(message, /127\.0\.0\.1|wrong|nobody|ECONN|tls/i);
    }
  });

  await t.step("answers 502 to an Export that cannot be bound", async () => {
    await failure(await post({ kubeconfig, export: "absent" }), 502, /"absent"/);
    await failure(await post({ kubeconfig, export: "unready" }), 502, /not Ready$/);
    await failure(await post({ kubeconfig, export: "../grants" }), 502);
  });

  await t.step(
    "answers 502 when the konnector's CRDs are missing, and sends no Secret",
    async () => {
      // The provider does not serve these CRDs.
      const answer = await post({ kubeconfig: await sent(plane), export: "widgets" });
      await failure(answer, 502, /install the konnector first$/);
      await provider.kube.get(NAMESPACES, { name: "xbind" });
      const secret = await provider.kube.find(SECRETS, { name: grant, namespace: "xbind" });
      assert.equal(secret, undefined);
    },
  );

  await t.step("answers 503 to a fifth apply of one identity, and serves others", async () => {
    const waits: Promise<Response>[] = [];
    {
      await using silent = silentServer();
      const slow = {
        kubeconfig: await sent(consumerPlane, { server: silent.server }),
        installKonnector: true,
      };
      for (let count = 0; count < 4; count++) waits.push(post(slow));
      await silent.whenFull;
      const fifth = await post(slow);
      assert.match(fifth.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
      await failure(fifth, 503, /^Cannot apply: too many applies of yours are under way; /);
      const others = { kubeconfig, installKonnector: true };
      await okJson(await gateway.as(await seal("other"), "/api/apply", postJson(others)));
    }
    for (const answer of await Promise.all(waits)) await failure(answer, 502);
  });

  await t.step("appears in the provider info, and logs no credentials", async () => {
    const info = await okJson<ProviderInfo>(await gateway.request("/api/provider"));
    assert.equal(info.applyEnabled, true);
    const log = gateway.backend.lines.join("\n");
    const { key } = await consumerPlane.userCertificate("admin");
    assert.ok(!log.includes(kubeconfig.slice(0, 80)) && !log.includes(token) && !log.includes(key));
    const lines = gateway.backend.log.filter(({ code }) => code === "apply");
    const subjects = [subject, sealedSubject("other")];
    assert.deepEqual([...new Set(lines.map(({ subject: who }) => who))], subjects);
    assert.deepEqual(
      [...new Set(lines.map(({ outcome }) => outcome))].sort(),
      ["APPLY_FAILED", "INVALID_REQUEST", "KUBECONFIG_REJECTED", "UNAVAILABLE", "ok"],
    );
  });

  for (const type of [CLUSTER_BINDINGS, CONNECTIONS] as ResourceType[]) {
    await consumer.kube.delete(type, { name: grant });
  }
  await consumer.kube.delete(SECRETS, { name: grant, namespace: "xbind" });
});
