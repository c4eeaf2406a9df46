import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  DEPLOYMENTS,
  GRANTS,
  NAMESPACES,
  SECRETS,
} from "../../../common/api/resources.ts";
import { type ApplyDeps, applyToConsumer } from "../../../server/bind/apply.ts";
import { applySlots } from "../../../server/bind/slots.ts";
import { konnectorManifest } from "../../../common/consumer/konnector_manifest.ts";
import { type ErrorCode, XbindError } from "../../../common/errors.ts";
import {
  ANNOTATIONS,
  boundaryName,
  KONNECTOR_IMAGE,
  tokenSecretName,
} from "../../../common/api/names.ts";
import { bind, pickUp, tokenOf } from "../../support/worlds/bind_steps.ts";
import { BindWorld } from "../../support/worlds/bind_world.ts";
import { ownPlane, sharedProvider } from "../../support/planes/control_planes.ts";
import { type HostileAnswer, HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { connect } from "../../support/planes/kube.ts";

const plane = await sharedProvider();
/** A consumer without CRDs: no other test may install anything on it. */
const consumer = await ownPlane({ name: "apply", controllerManager: false });

const DEFAULT_DENIED = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"];
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Returns an applyToConsumer() with the dependencies of a world. */
const applying = (world: BindWorld, edit: Partial<ApplyDeps> = {}) => {
  const deps: ApplyDeps = {
    ...world.deps(),
    provider: { externalAddress: "", restHost: plane.server },
    slots: applySlots(),
    discoveryWaitMs: 300,
    ...edit,
    config: {
      konnectorImage: KONNECTOR_IMAGE,
      applyDenyCidrs: DEFAULT_DENIED,
      applyAllowInsecureTls: false,
      ...edit.config,
    },
  };
  return (request: { export?: string; kubeconfig: string; installKonnector?: boolean }) =>
    applyToConsumer(deps, world.identity(), request, AbortSignal.timeout(60_000));
};

const fails = (wanted: ErrorCode, words = /./) => (error: unknown): boolean => {
  assert.ok(error instanceof XbindError, String(error));
  assert.equal(error.code, wanted, error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(error.message, /127\.0\.0\.1|https:|-----BEGIN/);
  return true;
};

const adminKubeconfig = async () => base64(await Deno.readTextFile(consumer.adminKubeconfig));

/** A kubeconfig for this server, in JSON, which is also YAML. */
const kubeconfig = (server: string, caPem = consumer.caPem, user: object = { token: "wrong" }) =>
  base64(JSON.stringify({
    clusters: [{
      name: "c",
      cluster: { server, "certificate-authority-data": base64(caPem) },
    }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  }));

Deno.test("applyToConsumer() fails when the konnector's CRDs are missing", async () => {
  await using world = await BindWorld.start(plane);
  using admin = await connect(consumer);
  const name = await world.export("pg");
  const apply = applying(world);
  await assert.rejects(
    apply({ export: name, kubeconfig: await adminKubeconfig() }),
    fails("APPLY_FAILED", /does not serve connections\.core\.xbind\.io; install the konnector/),
  );
  assert.ok(await admin.kube.find(NAMESPACES, { name: "xbind" }), "the namespace is missing");
  assert.deepEqual(await admin.kube.list(SECRETS, { namespace: "xbind" }), []);
});

Deno.test("applyToConsumer() installs the konnector, a bundle, or both", async () => {
  await using world = await BindWorld.start(plane);
  using admin = await connect(consumer);
  const name = await world.export("pg");
  const apply = applying(world, { discoveryWaitMs: 10_000 });
  const submitted = await adminKubeconfig();
  const manifest = konnectorManifest(KONNECTOR_IMAGE)
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`);

  const installed = await apply({ kubeconfig: submitted, installKonnector: true, export: "" });
  assert.deepEqual(installed.applied, manifest);

  const both = await apply({ export: name, kubeconfig: submitted, installKonnector: true });
  const grant = both.applied.at(-1)?.split("/")[1] ?? "";
  const bundle = [`Secret/${grant}`, `Connection/${grant}`, `ClusterBinding/${grant}`];
  assert.deepEqual(both.applied, [...manifest, ...bundle]);
  const secretKey = { name: grant, namespace: "xbind" };
  const stored = await admin.kube.get(SECRETS, secretKey);
  assert.ok(stored.data?.["kubeconfig"]);
  assert.ok(await admin.kube.find(CONNECTIONS, { name: grant }));
  assert.ok(await admin.kube.find(CLUSTER_BINDINGS, { name: grant }));
  const deployment = { name: "konnector", namespace: "xbind" };
  assert.ok(await admin.kube.find(DEPLOYMENTS, deployment));
  const issued = await world.grant(grant);
  assert.equal(issued.metadata.annotations?.[ANNOTATIONS.pickupSha256], undefined);
  assert.ok(issued.metadata.annotations?.[ANNOTATIONS.boundAt]);

  // A new token replaces the one in the Secret.
  const namespace = boundaryName(world.identity().subject);
  await world.kube.delete(SECRETS, { name: tokenSecretName(grant), namespace });
  await world.issue(issued);
  // The Grant gets a new stamp for the reaper, and a waiting pickup stays valid.
  const bound = await bind(world, name);
  const before = Date.now();
  const alone = await apply({ export: name, kubeconfig: submitted });
  const { annotations = {} } = (await world.grant(grant)).metadata;
  assert.ok(Date.parse(annotations[ANNOTATIONS.boundAt] ?? "") >= before);
  await pickUp(world, tokenOf(bound));
  assert.deepEqual(alone.applied, ["Namespace/xbind", ...bundle]);
  const renewed = await admin.kube.get(SECRETS, secretKey);
  assert.notEqual(renewed.data?.["kubeconfig"], stored.data["kubeconfig"]);
  for (const [type, key] of [[CONNECTIONS, { name: grant }], [SECRETS, secretKey]] as const) {
    await admin.kube.delete(type, key);
  }
});

Deno.test("applyToConsumer() sends no credential once the permission is lost", async () => {
  await using world = await BindWorld.start(plane);
  using admin = await connect(consumer);
  const name = await world.export("pg");
  const refused = new XbindError("FORBIDDEN", "no");
  const until = (checks: number) => ({
    checkBind: () => checks-- > 0 ? Promise.resolve() : Promise.reject(refused),
  });
  const submitted = await adminKubeconfig();
  const secrets = () => admin.kube.list(SECRETS, { namespace: "xbind" });
  const before = await secrets();
  // The first check is before the address is looked up, the second one is that of the bind.
  const atLast = applying(world, { authorizer: until(2), discoveryWaitMs: 10_000 });
  await assert.rejects(
    atLast({ export: name, kubeconfig: submitted, installKonnector: true }),
    fails("FORBIDDEN"),
  );
  assert.deepEqual(await secrets(), before);
  const atFirst = applying(world, { authorizer: until(0) });
  await assert.rejects(
    atFirst({ export: name, kubeconfig: kubeconfig("https://no-such-host.invalid") }),
    fails("FORBIDDEN"),
  );
  await atFirst({ kubeconfig: submitted, installKonnector: true }); // takes no right
});

Deno.test("applyToConsumer() verifies the host name and connects to the checked address", async () => {
  await using world = await BindWorld.start(plane);
  const certificate = await consumer.userCertificate("root", ["system:masters"]);
  const user = {
    "client-certificate-data": base64(certificate.cert),
    "client-key-data": base64(certificate.key),
  };
  const server = consumer.server.replace("127.0.0.1", "localhost");
  const { applied } = await applying(world)({
    kubeconfig: kubeconfig(server, consumer.caPem, user),
    installKonnector: true,
  });
  assert.equal(applied.length, 10);
});

Deno.test("applyToConsumer() creates no Grant for an invalid request", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const submitted = await adminKubeconfig();
  const denying = (cidr: string) =>
    applying(world, {
      config: {
        konnectorImage: KONNECTOR_IMAGE,
        applyDenyCidrs: [cidr],
        applyAllowInsecureTls: false,
      },
    });
  await assert.rejects(
    applying(world)({ kubeconfig: submitted }),
    fails("INVALID_REQUEST", /nothing to do/),
  );
  await assert.rejects(
    applying(world)({ kubeconfig: "%", export: name }),
    fails("KUBECONFIG_REJECTED", /base64/),
  );
  for (
    const [cidr, server] of [
      ["127.0.0.0/8", consumer.server],
      ["127.0.0.0/8", consumer.server.replace("127.0.0.1", "localhost")],
      ["127.0.0.0/8", consumer.server.replace("127.0.0.1", "[::ffff:127.0.0.1]")],
      ["127.0.0.0/8", consumer.server.replace("127.0.0.1", "0.0.0.0")],
      ["169.254.0.0/16", "https://169.254.169.254"],
    ] as const
  ) {
    await assert.rejects(
      denying(cidr)({ kubeconfig: kubeconfig(server), export: name }),
      fails("KUBECONFIG_REJECTED", /refuses/),
      server,
    );
  }
  await assert.rejects(
    applying(world)({ kubeconfig: kubeconfig("https://no-such-host.invalid"), export: name }),
    fails("APPLY_FAILED", /looked up/),
  );
  const grants = await world.kube.list(GRANTS);
  assert.ok(!grants.some(({ spec }) => spec.exportName === name));
});

Deno.test("applyToConsumer() reports failures of the provider", async () => {
  await using world = await BindWorld.start(plane);
  const submitted = await adminKubeconfig();
  for (const unknown of ["no-such-export", "Not/AName"]) {
    await assert.rejects(
      applying(world)({ kubeconfig: submitted, export: unknown }),
      fails("APPLY_FAILED", /Cannot find Export/),
    );
  }
  const name = await world.export("pg");
  await world.hold();
  await assert.rejects(
    applying(world, { issuerWaitMs: 200 })({ kubeconfig: submitted, export: name }),
    fails("GRANT_NOT_READY"),
  );
});

Deno.test("applyToConsumer() reports failures of the consumer without quoting it", async () => {
  await using world = await BindWorld.start(plane);
  const install = (kubeconfig: string) => applying(world)({ kubeconfig, installKonnector: true });
  const stranger = await createAuthority("stranger");
  await assert.rejects(
    install(kubeconfig(consumer.server, stranger.cert)),
    fails("APPLY_FAILED", /certificate is not trusted/),
  );
  await assert.rejects(
    install(kubeconfig(consumer.server)),
    fails("APPLY_FAILED", /does not accept the credentials/),
  );
  const nobody = await consumer.userCertificate("nobody");
  const user = {
    "client-certificate-data": base64(nobody.cert),
    "client-key-data": base64(nobody.key),
  };
  await assert.rejects(
    install(kubeconfig(consumer.server, consumer.caPem, user)),
    fails("APPLY_FAILED", /may not do that/),
  );
  await assert.rejects(
    install(kubeconfig("https://127.0.0.1:1")),
    fails("APPLY_FAILED", /cannot be reached/),
  );
});

Deno.test("applyToConsumer() survives a hostile server", async (t) => {
  await using world = await BindWorld.start(plane);
  for (const [name, { answer, timeoutMs = 20_000, words }] of Object.entries(HOSTILE)) {
    await t.step(name, async () => {
      await using server = await HostileApiServer.start(answer);
      const apply = applying(world, { applyTimeoutMs: timeoutMs });
      const request = { kubeconfig: server.kubeconfig(), installKonnector: true };
      await assert.rejects(apply(request), fails("APPLY_FAILED", words));
      assert.ok(server.requests <= 4, `${server.requests} requests`);
    });
  }
});

interface HostileServer {
  answer: HostileAnswer;
  timeoutMs?: number;
  words: RegExp;
}

const HOSTILE: Record<string, HostileServer> = {
  "a redirect": {
    answer: (answer) => answer.writeHead(307, { Location: plane.server }).end(),
    words: /answered 307/,
  },
  "text instead of JSON": {
    answer: (answer) => answer.end("<html>hello https: 127.0.0.1"),
    words: /not one of an API server/,
  },
  "a Status that quotes secrets": {
    answer: (answer) =>
      answer.writeHead(422).end(JSON.stringify({
        kind: "Status",
        reason: "Invalid",
        message: "-----BEGIN https: 127.0.0.1",
      })),
    words: /invalid/,
  },
  "a Status with an invented reason": {
    answer: (answer) =>
      answer.writeHead(400).end(JSON.stringify({ kind: "Status", reason: "https:", code: {} })),
    words: /answered 400/,
  },
  "an endless answer": {
    answer: (answer) => {
      const chunk = "x".repeat(1024 * 1024);
      const more = () => {
        while (!answer.destroyed && answer.write(chunk));
      };
      answer.on("drain", more).on("error", () => {});
      more();
    },
    words: /answer is larger than/,
  },
  "no answer": { answer: () => {}, timeoutMs: 500, words: /longer than 0\.5 s/ },
  "an answer that trickles": {
    answer: (answer) => {
      answer.writeHead(200);
      const timer = setInterval(() => answer.write(" "), 50);
      answer.on("close", () => clearInterval(timer)).on("error", () => {});
    },
    timeoutMs: 500,
    words: /longer than 0\.5 s/,
  },
  "a closed connection": { answer: (_, socket) => void socket.destroy(), words: /broke off/ },
  "another protocol": {
    answer: (_, socket) => void socket.end("SSH-2.0-OpenSSH_9.9\r\n\r\n"),
    words: /./,
  },
  "a Retry-After of a day": {
    answer: (answer) => answer.writeHead(429, { "Retry-After": "86400" }).end(),
    timeoutMs: 500,
    words: /longer than 0\.5 s/,
  },
};

Deno.test("applyToConsumer() allows one identity four applies at once", async () => {
  await using world = await BindWorld.start(plane);
  const slots = applySlots();
  const { subject } = world.identity();
  const enter = () => slots.enter(subject, AbortSignal.timeout(60_000));
  const taken = await Promise.all(Array.from({ length: 4 }, enter));
  const apply = applying(world, { slots });
  const request = { kubeconfig: await adminKubeconfig(), installKonnector: true };
  await assert.rejects(apply(request), fails("UNAVAILABLE"));
  for (const slot of taken) slot[Symbol.dispose]();
  await apply(request);
});
