import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { DAEMON_SCRIPT_FLAGS } from "../../../scripts/run_flags.ts";
import type { Catalog, Clusters } from "../../../common/api/wire.ts";
import { Backend } from "../../support/programs/backend.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { failure, okJson, postJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { HOSTILE_CLIENT, HostileIdp } from "../../support/peers/hostile_idp.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { GATEWAY_URL, LoginBrowser } from "../../support/peers/login_browser.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());

/** The backend's own permissions, with network access only to these peers. */
const runFlags = (peers: readonly string[]): string[] =>
  DAEMON_SCRIPT_FLAGS.map((flag) => flag === "--allow-net" ? `--allow-net=${peers.join()}` : flag);

const hostOf = (url: string) => new URL(url).host;

Deno.test("the backend calls only its provider, its identity provider and the consumer", async (t) => {
  await using idp = await HostileIdp.start();
  await using consumer = await HostileApiServer.yielding();
  await using stranger = await HostileApiServer.yielding();
  const [listen, metrics, probes] = [freePort(), freePort(), freePort()]
    .map((port) => `127.0.0.1:${port}`);
  assert.ok(listen && metrics && probes);
  const peers = [plane.server, idp.issuer, consumer.url].map(hostOf);
  const allowed = runFlags([...peers, listen, metrics, probes]);
  assert.ok(!allowed.includes("--allow-net"));
  await using backend = await Backend.start(plane, {
    launch: [Deno.execPath(), "run", ...allowed, await Backend.script()],
    flags: [
      `--listen-address=${listen}`,
      `--metrics-bind-address=${metrics}`,
      `--health-probe-bind-address=${probes}`,
      ...["--enable-apply", "--enable-reaper", "--reaper-interval=1s", "--leader-elect"],
      `--external-url=${GATEWAY_URL}`,
      `--oidc-issuer-url=${idp.issuer}`,
      `--oidc-client-id=${HOSTILE_CLIENT.id}`,
      `--oidc-ca-file=${idp.caFile}`,
    ],
    env: { XBIND_OIDC_CLIENT_SECRET: HOSTILE_CLIENT.secret },
  });
  using provider = await TestProvider.of(plane);
  using browser = new LoginBrowser({ gateway: await backend.addressOf("/"), caPem: idp.caPem });
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`http://${listen}${path}`, {
      ...init,
      headers: { ...init.headers, Cookie: `xbind_session=${browser.cookie("xbind_session")}` },
    });
  const apply = (server: HostileApiServer) =>
    send("/api/apply", postJson({ kubeconfig: server.kubeconfig(), installKonnector: true }));

  await t.step(
    "login, catalog, bind, pickup, apply, inventory, metrics and probes work",
    async () => {
      await provider.define(WIDGETS);
      await provider.offerReady("widgets", [WIDGETS]);
      const { location = "" } = await eventually("a login can be started", async () => {
        const answer = await browser.get("/api/auth/oidc/login");
        return answer.status === 302 && answer;
      });
      assert.equal((await browser.get(idp.approve(location))).status, 302);
      const catalog = await okJson<Catalog>(await send("/api/catalog"));
      assert.equal(catalog.exports[0]?.name, "widgets");
      const { pickupURL } = await okJson<{ pickupURL: string }>(
        await send("/api/bind", postJson({ export: "widgets" })),
      );
      const headers = { Accept: "application/json" };
      assert.ok(await okJson(await send(pickupURL, { headers })));
      assert.ok(await okJson(await apply(consumer)));
      assert.ok((await okJson<Clusters>(await send("/api/clusters"))).pending);
      assert.ok(await okJson(await send("/api/catalog/widgets/instances")));
      for (const url of [`http://${metrics}/metrics`, `http://${probes}/readyz`]) {
        const answer = await fetch(url);
        await answer.body?.cancel();
        assert.equal(answer.status, 200, url);
      }
    },
  );

  await t.step("a peer without a permission is unreachable", async () => {
    await failure(await apply(stranger), 502);
    assert.equal(stranger.requests, 0);
    assert.equal(await (await send("/api/healthz")).text(), "ok");
  });

  await t.step("Deno refused no other connection", async () => {
    assert.equal(await backend.stop(), 0);
    const refused = backend.lines.filter((line) => /NotCapable|net access/.test(line));
    assert.equal(refused.length, 1, refused.join("\n"));
    assert.match(refused[0] ?? "", new RegExp(hostOf(stranger.url)));
  });
});
