import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  EVENTS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  type Secret,
} from "../../../common/api/resources.ts";
import { Backend } from "../../support/programs/backend.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { okJson, postJson, sessionKeys } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { HOSTILE_CLIENT, HostileIdp, type Plan } from "../../support/peers/hostile_idp.ts";
import { grantFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { accountToken } from "../../support/planes/kube.ts";
import { GATEWAY_URL, LoginBrowser } from "../../support/peers/login_browser.ts";
import { ProcessView } from "../../support/programs/process_view.ts";
import { SecretSearch } from "../../support/programs/secret_search.ts";
import {
  base64,
  configOf,
  GOOD_CLUSTER,
  PEMS,
  submitted,
} from "../../testdata/hostile_kubeconfigs/parts.ts";

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());

const marker = (name: string) => `${name}-${crypto.randomUUID()}`;
const PLACES = ["the log", "Events", "Grants", "Exports", "metrics", "failures", "arguments"];

Deno.test("xbind-backend exposes no secret at the highest log level", async (t) => {
  const search = new SecretSearch();
  const keys = sessionKeys();
  search.plant("the signing key", keys.env["XBIND_COOKIE_SIGNING_KEY"]?.slice(0, 60));
  search.plant("the encryption key", keys.env["XBIND_COOKIE_ENCRYPTION_KEY"]?.slice(0, 40));
  search.plant("the signing key in hex", Buffer.from(keys.signingKey).toString("hex"));
  search.plant("the encryption key in hex", Buffer.from(keys.encryptionKey).toString("hex"));
  await using idp = await HostileIdp.start();
  await using backend = await Backend.start(plane, {
    flags: [
      ...["--listen-address=127.0.0.1:0", "--zap-log-level=100", "--zap-stacktrace-level=info"],
      ...["--enable-apply", "--kubernetes-auth", "--leader-elect"],
      ...["--enable-reaper", "--reaper-interval=1s", "--reaper-ttl=2s"],
      `--external-url=${GATEWAY_URL}`,
      `--oidc-issuer-url=${idp.issuer}`,
      `--oidc-client-id=${HOSTILE_CLIENT.id}`,
      `--oidc-ca-file=${idp.caFile}`,
    ],
    env: { ...keys.env, XBIND_OIDC_CLIENT_SECRET: HOSTILE_CLIENT.secret },
  });
  using provider = await TestProvider.of(plane);
  const address = await backend.addressOf("/");
  using browser = new LoginBrowser({ gateway: address, caPem: idp.caPem });
  /** Sends a request, and keeps a failure for the search. */
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const answer = await fetch(new URL(path, address), { redirect: "manual", ...init });
    if (answer.status < 400) return answer;
    const body = await answer.text();
    const headers = JSON.stringify([...answer.headers]);
    search.look("failures", `${answer.status} ${headers} ${body}`);
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
  const logIn = async (plan: Plan) => {
    const { location = "" } = await eventually("the identity provider is known", async () => {
      const answer = await browser.get("/api/auth/oidc/login?redirect=http://127.0.0.1:1/cb");
      return answer.status === 302 && answer;
    });
    search.plant(`state cookie ${search.size}`, browser.cookie("xbind_oidc_state"));
    search.plant(`state ${search.size}`, new URL(location).searchParams.get("state") ?? "");
    search.plant(`nonce ${search.size}`, new URL(location).searchParams.get("nonce") ?? "");
    const { status, headers, text } = await browser.get(idp.approve(location, plan));
    if (status >= 400) search.look("failures", `${JSON.stringify([...headers])} ${text}`);
    return status;
  };
  let session = "";
  const as = (token: string, path: string, init: RequestInit = {}) =>
    send(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });

  await t.step("failed and successful logins", async () => {
    const plans: [Plan, number][] = [
      [{ claims: { nonce: marker("another-nonce") } }, 401],
      [{ idToken: () => marker("not-a-token") }, 401],
      [{ reply: { status: 400, body: JSON.stringify({ error: "invalid_grant" }) } }, 401],
      [{ reply: { status: 200, body: "<html>" } }, 401],
      [{ reply: { status: 500 } }, 503],
      [{}, 302],
    ];
    for (const [plan, expected] of plans) assert.equal(await logIn(plan), expected);
    session = browser.cookie("xbind_session") ?? "";
    search.plant("the session", session);
    const code = marker("code-without-a-login");
    search.plant("that code", code);
    assert.equal((await send(`/api/auth/oidc/callback?code=${code}&state=${code}`)).status, 400);
  });

  await t.step("requests with valid and invalid tokens", async () => {
    const provided = await accountToken(provider.kube, "default", "caller");
    search.plant("a provider token", provided);
    await okJson(await as(provided, "/api/me"));
    const bad = marker("bad-token");
    search.plant("a bad token", bad);
    assert.equal((await as(bad, "/api/me")).status, 401);
    assert.equal((await as(`${session}x`, "/api/me")).status, 401);
    assert.equal(
      (await send("/api/me", { headers: { Cookie: `xbind_session=${bad}` } })).status,
      401,
    );
    await (await as(session, "/api/auth/logout")).body?.cancel();
  });

  await t.step("binds and pickups", async () => {
    await provider.define(WIDGETS);
    await provider.offerReady("widgets", [WIDGETS]);
    const { pickupURL } = await okJson<{ pickupURL: string }>(
      await as(session, "/api/bind", postJson({ export: "widgets" })),
    );
    search.plant("the pickup", pickupURL.split("/").at(-1));
    const { bundle } = await okJson<{ bundle: KubeObject[] }>(
      await send(pickupURL, { headers: { Accept: "application/json" } }),
    );
    const kubeconfig = (bundle[0] as Secret).stringData?.["kubeconfig"] ?? "";
    search.plant("the issued kubeconfig", kubeconfig.slice(0, 2_000));
    search.plant("the issued token", /token: (\S+)/.exec(kubeconfig)?.[1]);
    assert.equal((await send(pickupURL)).status, 410);
    assert.equal((await send(`${pickupURL.slice(0, -1)}?x=y`)).status, 410);
    for (const method of ["POST", "HEAD", "DELETE"]) await send(pickupURL, { method });
    const garbage = marker("garbage");
    search.plant("a body that is no JSON", garbage);
    const init = { method: "POST", body: `{"export": ${garbage}` };
    assert.equal((await as(session, "/api/bind", init)).status, 400);
    assert.equal((await as(session, "/api/apply", init)).status, 400);
  });

  await t.step("submitted kubeconfigs", async () => {
    const [token, password] = [marker("submitted-token"), marker("submitted-password")];
    search.plant("a submitted token", token);
    search.plant("a submitted password", password);
    search.plant("a submitted key", PEMS.alice.key.split("\n").slice(1, 4).join("\n"));
    await using echoing = await HostileApiServer.start((answer, _, { headers }) => {
      const message = `${headers.authorization}`;
      answer.writeHead(422).end(JSON.stringify({ kind: "Status", reason: message, message }));
    });
    await using dead = await HostileApiServer.start((_, socket) => void socket.destroy());
    const clusterOf = (server: HostileApiServer) => ({
      server: server.url,
      "certificate-authority-data": base64(server.caPem),
    });
    const certificate = {
      "client-certificate-data": base64(PEMS.alice.cert),
      "client-key-data": base64(PEMS.alice.key),
    };
    const basic = { username: "somebody", password };
    const configs = [
      configOf(clusterOf(echoing), { token }),
      configOf(clusterOf(echoing), basic),
      configOf(clusterOf(dead), { token, ...certificate }),
      configOf(clusterOf(dead), certificate),
      configOf(GOOD_CLUSTER, { token, exec: { command: token } }),
      configOf({ ...GOOD_CLUSTER, server: `https://${password}:x@a` }, basic),
      configOf({ ...GOOD_CLUSTER, "proxy-url": `http://x:${password}@a` }, { token }),
      configOf(GOOD_CLUSTER, { "client-key-data": base64(PEMS.alice.key) }),
      `${token}: [`,
      `"${token}`,
      `? [${token}]\n: x`,
      `? {${token}: ${password}}\n: x`,
      `!${token} x`,
      `%${token} x\n---\na`,
    ];
    for (const config of configs) {
      const request = { kubeconfig: submitted(config), export: "widgets", installKonnector: true };
      search.plant(`submitted kubeconfig ${search.size}`, request.kubeconfig.slice(0, 5_000));
      const { status } = await as(session, "/api/apply", postJson(request));
      assert.ok(status === 400 || status === 502, `${status}`);
    }
  });

  await t.step("failed, stale and revoked Grants", async () => {
    const { metadata } = await provider.kube.create(
      GRANTS,
      grantFor({ who: "unexported", apis: ["absent.example.org"] }),
      "xbind-gateway",
    );
    await backend.logged("Grant not provisioned");
    await backend.logged("grant is stale");
    await provider.kube.delete(GRANTS, metadata);
    await backend.logged("Grant revoked");
  });

  await t.step("no secret is in the log, objects, metrics, failures or arguments", async () => {
    for (const [index, secret] of idp.secrets.entries()) search.plant(`secret ${index}`, secret);
    assert.ok(search.size > 60, `${search.size} secrets`);
    const { kube } = provider;
    search.look("Events", JSON.stringify(await kube.list(EVENTS)));
    search.look("Grants", JSON.stringify(await kube.list(GRANTS)));
    search.look("Exports", JSON.stringify(await kube.list(EXPORTS)));
    const metrics = await fetch(`${await backend.addressOf("/metrics")}/metrics`);
    search.look("metrics", await metrics.text());
    search.look("arguments", new ProcessView(backend.pid).commandLine().join("\n"));
    assert.equal(await backend.stop(), 0);
    search.look("the log", `${backend.lines.join("\n")}\n${backend.stdout}`);
    search.assertNothingFound(PLACES);
  });

  await t.step("paths are logged as patterns", () => {
    const routes = new Set(
      backend.log.filter(({ msg }) => msg === "request").map(({ route }) => route),
    );
    assert.ok(routes.has("/api/bundle/:token") && routes.has("/api/auth/oidc/callback"));
    for (const route of routes) assert.match(String(route), /^(unknown|\/[a-z/:.]*)$/);
    assert.ok(backend.lines.some((line) => line.includes('"stacktrace"')), "the log has stacks");
  });
});

Deno.test("SecretSearch finds a planted secret", () => {
  const secret = marker("a-secret+/with?signs");
  for (const form of [secret, btoa(secret), encodeURIComponent(secret)]) {
    const search = new SecretSearch();
    search.plant("it", secret);
    search.look("here", `before ${form} after`);
    assert.throws(() => search.assertNothingFound(["here"]), /here holds it/);
    assert.throws(() => search.assertNothingFound(["here", "there"]));
  }
});
