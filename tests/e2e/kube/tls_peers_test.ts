import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { createIdpFetch, IdpUnreachableError } from "../../../server/gateway/idp/idp_fetch.ts";
import { Transport } from "../../../common/kube/transport.ts";
import { connectThroughProxy } from "../../../common/http/connect_through_proxy.ts";
import { Backend } from "../../support/programs/backend.ts";
import { CliUser } from "../../support/programs/cli.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { failure, Gateway, postJson } from "../../support/worlds/gateway_world.ts";
import { INSPECTABLE, Inspector } from "../../support/programs/inspector.ts";
import { temporaryDir } from "../../support/planes/kube.ts";
import {
  DAMAGED_CERTIFICATE,
  HARMLESS_SERVERS,
  ODD_SERVERS,
  OddAuthority,
  SHORT_RSA,
} from "../../support/peers/odd_tls.ts";
import { ProcessView } from "../../support/programs/process_view.ts";
import { base64, configOf, submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";

// Its backends issue Grants, so other tests must not share this plane.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());
const authority = await OddAuthority.create();
/** Every program here runs with this variable, because it must not turn the TLS checks off. */
const WEAKENED = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };

const short = await authority.issue({ algorithm: SHORT_RSA });
/** A user whose key has 1024 bits. */
const SHORT_KEY = {
  "client-certificate-data": base64(short.cert),
  "client-key-data": base64(short.key),
};

const unhandled = async (metricsUrl: string): Promise<string | undefined> => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  return /^xbind_unhandled_failures_total (\d+)$/m.exec(text)?.[1];
};

Deno.test("the backend survives POST /api/apply with any TLS server and certificate", async (t) => {
  await using gateway = await Gateway.start(plane, { flags: ["--enable-apply"], env: WEAKENED });
  const { token } = await gateway.login();
  const metricsUrl = await gateway.backend.addressOf("/metrics");
  const view = new ProcessView(gateway.backend.pid);
  const apply = async (port: number, cluster: object = {}, user: object = { token: "bait" }) => {
    const server = `https://127.0.0.1:${port}`;
    const ca = base64(authority.cert);
    const config = configOf({ server, "certificate-authority-data": ca, ...cluster }, user);
    const request = { kubeconfig: submitted(config), installKonnector: true };
    return await gateway.as(token, "/api/apply", postJson(request));
  };

  for (const [name, start] of Object.entries({ ...ODD_SERVERS, ...HARMLESS_SERVERS })) {
    await t.step(`${name}: 502`, async () => {
      await using server = await start(authority);
      await failure(await apply(server.port), 502, /^Cannot apply CustomResourceDefinition/);
    });
  }

  const start = HARMLESS_SERVERS["an ordinary leaf"] ?? assert.fail();
  await using server = await start(authority);
  await t.step("a damaged certificate among the authorities: 400", async () => {
    for (const damaged of [DAMAGED_CERTIFICATE, "-----BEGIN CERTIFICATE-----\nAAAA\n"]) {
      const ca = base64(authority.cert + damaged);
      const answer = await apply(server.port, { "certificate-authority-data": ca });
      await failure(answer, 400, /its certificate authority holds a damaged certificate/);
    }
  });

  await t.step("a client key that is too short: 400", async () => {
    await failure(await apply(server.port, {}, SHORT_KEY), 400, /client key is too short/);
  });

  await t.step("an IP address as server name is verified", async () => {
    const right = await apply(server.port, { "tls-server-name": "127.0.0.1" });
    await failure(right, 502, /the API server failed/); // TLS succeeded
    const wrong = await apply(server.port, { "tls-server-name": "1.2.3.4" });
    await failure(wrong, 502, /certificate is not trusted/);
  });

  await t.step("200 applies that fail in TLS leak no file descriptors", async () => {
    const chain = ODD_SERVERS["a damaged certificate behind the leaf"] ?? assert.fail();
    await using odd = await chain(authority);
    const attempt = async (nth: number) => {
      const cases = [
        () => apply(server.port, { "tls-server-name": "1.2.3.4" }),
        () => apply(server.port, {}, SHORT_KEY),
        () => apply(odd.port),
      ];
      const answer = await (cases[nth % cases.length] ?? assert.fail())();
      await answer.body?.cancel();
      assert.ok([400, 502].includes(answer.status), `${answer.status}`);
    };
    const four = (nth: number) => Promise.all([0, 1, 2, 3].map((more) => attempt(nth + more)));
    await four(0); // also opens the test's own connections
    const before = view.sockets();
    for (let nth = 0; nth < 200; nth += 4) await four(nth);
    await eventually("all sockets are closed", () => view.sockets() <= before);
  });

  await t.step("no failure was unhandled", async () => {
    assert.equal(await unhandled(metricsUrl), "0");
    assert.deepEqual(gateway.backend.log.filter(({ level }) => level === "error"), []);
  });
});

Deno.test("the backend survives a damaged certificate of the identity provider", async () => {
  const chain = ODD_SERVERS["a damaged certificate behind the leaf"] ?? assert.fail();
  await using idp = await chain(authority);
  await using dir = await temporaryDir();
  const caFile = `${dir.path}/ca.pem`;
  await Deno.writeTextFile(caFile, authority.cert);
  const issuer = `--oidc-issuer-url=https://127.0.0.1:${idp.port}`;
  const flags = ["--listen-address=127.0.0.1:0", issuer, "--oidc-client-id=x"];
  const trusting = { flags: [...flags, `--oidc-ca-file=${caFile}`], env: WEAKENED };
  await using backend = await Backend.start(plane, trusting);
  const { reason } = await backend.logged("identity provider cannot be used");
  assert.equal(reason, "the server's certificates cannot be read");
  // Without the CA file the certificate is not trusted, in spite of the variable.
  await using doubting = await Backend.start(plane, { flags, env: WEAKENED });
  const doubt = await doubting.logged("identity provider cannot be used");
  assert.match(String(doubt["reason"]), /not signed by a trusted authority/);
  for (const each of [backend, doubting]) {
    assert.equal(await unhandled(await each.addressOf("/metrics")), "0");
  }
});

Deno.test("the backend reports a damaged authority in its kubeconfig in one sentence", async () => {
  await using dir = await temporaryDir();
  const kubeconfig = `${dir.path}/kubeconfig`;
  const damaged = base64(authority.cert + DAMAGED_CERTIFICATE);
  const cluster = { server: plane.server, "certificate-authority-data": damaged };
  await Deno.writeTextFile(kubeconfig, JSON.stringify(configOf(cluster)));
  const flags = ["--listen-address=127.0.0.1:0", "--oidc-mock"];
  await using backend = await Backend.start(plane, { kubeconfig, flags });
  assert.equal(await backend.ended(), 2);
  const { error, stacktrace } = await backend.logged("cannot go on");
  assert.match(String(error), /its certificate authority holds a damaged certificate \(number 2\)/);
  assert.equal(stacktrace, undefined);
});

Deno.test("the backend reports a damaged certificate of its provider in one sentence", async () => {
  const chain = ODD_SERVERS["a damaged certificate behind the leaf"] ?? assert.fail();
  await using server = await chain(authority);
  await using dir = await temporaryDir();
  const kubeconfig = `${dir.path}/kubeconfig`;
  const cluster = {
    server: `https://127.0.0.1:${server.port}`,
    "certificate-authority-data": base64(authority.cert),
  };
  await Deno.writeTextFile(kubeconfig, JSON.stringify(configOf(cluster)));
  const flags = ["--listen-address=127.0.0.1:0", "--oidc-mock"];
  await using backend = await Backend.start(plane, { kubeconfig, flags });
  assert.equal(await backend.ended(), 1);
  const { error, stacktrace } = await backend.logged("cannot go on");
  assert.match(String(error), /Cannot reach the API server .*certificates cannot be read/);
  assert.equal(stacktrace, undefined);
});

Deno.test("kubectl bind refuses gateways and proxies with bad certificates", async () => {
  await using user = await CliUser.create();
  await Deno.writeTextFile(`${user.home}/ca.pem`, authority.cert);
  const gateways = {
    "a self-signed leaf": /not signed by a trusted authority/,
    "a damaged certificate behind the leaf": /certificates cannot be read/,
    "another host's leaf": /certificate is not for "127\.0\.0\.1"/,
  };
  for (const [name, fault] of Object.entries(gateways)) {
    await using server = await (ODD_SERVERS[name] ?? assert.fail())(authority);
    const url = `https://127.0.0.1:${server.port}`;
    const args = ["login", url, "--no-browser", "--ca-file", "ca.pem"];
    const { code, stderr } = await user.run(args, { env: WEAKENED });
    assert.equal(code, 1, stderr);
    assert.match(stderr, fault);
    assert.doesNotMatch(stderr, /^\s+at /m);
    const proxied = { ...WEAKENED, HTTPS_PROXY: url };
    const through = await user.run(["login", "https://gateway.example"], { env: proxied });
    assert.equal(through.code, 1, through.stderr);
    assert.match(through.stderr, /the proxy .* cannot be reached: /);
  }
});

Deno.test("the backend logs an unhandled failure with its stack, counts it, and goes on", async (t) => {
  const flags = ["--listen-address=127.0.0.1:0", "--oidc-mock", "--zap-stacktrace-level=panic"];
  await using backend = await Backend.start(plane, { flags, denoFlags: INSPECTABLE });
  const metricsUrl = await backend.addressOf("/metrics");
  await using inspector = await Inspector.attach(backend);
  const throwing = "function bait() { throw new Error(`bait ${where}`) }";
  const places: Readonly<Record<string, string>> = {
    timer: "setTimeout(bait)",
    microtask: "queueMicrotask(bait)",
    rejection: "Promise.resolve().then(bait)",
    "event handler": "{ const t = new EventTarget(); t.addEventListener('x', bait); " +
      "setTimeout(() => t.dispatchEvent(new Event('x'))) }",
    "abort listener": "{ const c = new AbortController(); " +
      "c.signal.addEventListener('abort', bait); setTimeout(() => c.abort()) }",
  };
  for (const [where, code] of Object.entries(places)) {
    await t.step(`thrown in: ${where}`, async () => {
      const expression = `{ const where = "${where}"; ${throwing}; ${code} }`;
      await inspector.ask("Runtime.evaluate", { expression });
      const line = await eventually(
        "it is logged",
        () =>
          backend.log.find(({ msg, error }) =>
            msg === "a failure was not handled" && error === `bait ${where}`
          ),
      );
      assert.match(String(line["stack"]), /\bat \S*bait\b/);
    });
  }
  assert.equal(await unhandled(metricsUrl), String(Object.keys(places).length));
});

Deno.test("calls to a provider, identity provider or proxy with odd certificates reject", async (t) => {
  const uncaught: unknown[] = [];
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    uncaught.push(event.error);
  };
  globalThis.addEventListener("error", onError);
  const fetchIdp = createIdpFetch({ caPem: authority.cert });
  for (const [name, start] of Object.entries(ODD_SERVERS)) {
    await t.step(name, async () => {
      await using server = await start(authority);
      const url = `https://127.0.0.1:${server.port}`;
      await assert.rejects(fetchIdp(url), IdpUnreachableError);
      using transport = new Transport({
        origin: "a test",
        context: "x",
        server: url,
        ca: { data: authority.cert },
        insecureSkipTlsVerify: false,
        auth: { kind: "token", token: { data: "bait" } },
        impersonation: {},
      }, { userAgent: "xbind-test" });
      const request = { method: "GET", path: "/", attempt: "Cannot ask", timeoutMs: 5_000 };
      await assert.rejects(transport.send(request), { reason: "ConnectionFailed" });
      const throughProxy = connectThroughProxy(new URL(url), "gateway.example", 443);
      await assert.rejects(throughProxy, /the proxy 127\.0\.0\.1:\d+ cannot be reached/);
      assert.deepEqual(uncaught, []);
    });
  }
  globalThis.removeEventListener("error", onError);
});
