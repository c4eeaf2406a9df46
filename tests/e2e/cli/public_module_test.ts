import assert from "node:assert/strict";
import { GatewayClient } from "../../../mod.ts";
import {
  type GraphModule,
  loadedModules,
  moduleGraph,
} from "../../../scripts/build/loaded_modules.ts";
import { answer, jsonAnswer, startRawGateway } from "../../support/peers/raw_gateway.ts";

Deno.test("mod.ts loads neither Kubernetes code nor any package; only types come from one", async () => {
  const graph = await moduleGraph("mod.ts");
  const heavy = (modules: readonly GraphModule[]): string[] =>
    modules.map(({ specifier }) => specifier).filter((it) => /\/common\/kube\/|^npm:/.test(it));
  const loaded = loadedModules(graph);
  assert.ok(loaded.some(({ specifier }) => specifier.endsWith("/cli/gateway/client.ts")));
  assert.deepEqual(heavy(loaded), []);
  const types = heavy(graph.modules).map((specifier) => specifier.replace(/@[\d.]+$/, ""));
  assert.deepEqual(types, ["npm:/@kubernetes/client-node"]);
});

Deno.test("GatewayClient sends no token to public paths, and throws a GatewayError with the status", async () => {
  const seen: (string | null)[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    seen.push(request.headers.get("Authorization"));
    return new URL(request.url).pathname === "/api/provider"
      ? Response.json({ name: "p", authMethods: ["oidc"], applyEnabled: false })
      : Response.json({ error: "Cannot read: not for you" }, { status: 401 });
  });
  const client = new GatewayClient({ server: `http://127.0.0.1:${server.addr.port}`, token: "t" });
  const { signal } = new AbortController();
  assert.equal((await client.provider(signal)).name, "p");
  await assert.rejects(client.me(signal), { name: "GatewayError", status: 401 });
  assert.deepEqual(seen, [null, "Bearer t"]);
});

Deno.test("GatewayClient.pickup() calls only its gateway, and sends no token", async (t) => {
  await using raw = await startRawGateway(jsonAnswer(200, { bundle: [{ kind: "Secret" }] }));
  const { signal } = new AbortController();
  const pickup = (pickupURL: string, server = raw.url) =>
    new GatewayClient({ server, token: "the-token" })
      .pickup({ grant: "g", pickupURL, expiresAt: "" }, signal);

  await t.step("returns the objects unchanged", async () => {
    assert.deepEqual(await pickup("/api/bundle/Zw.c2VjcmV0"), [{ kind: "Secret" }]);
    assert.match(raw.requests[0] ?? "", /^GET \/api\/bundle\/Zw\.c2VjcmV0 HTTP\/1\.1\r\n/);
    assert.doesNotMatch(raw.requests[0] ?? "", /authorization|the-token/i);
  });
  await t.step("keeps the path of the gateway's URL", async () => {
    await pickup("/api/bundle/x.y", `${raw.url}/bind/`);
    assert.match(raw.requests[1] ?? "", /^GET \/bind\/api\/bundle\/x\.y /);
  });
  const foreign = [
    "https://evil.example/api/bundle/x.y",
    "//evil.example/api/bundle/x.y",
    "/\\evil.example/api/bundle/x.y",
    "@evil.example/api/bundle/x.y",
    "/api/bundle/../me",
    "/api/bundle/..",
    "/api/bundle/%2e%2e",
    "/api/bundle/x.y?next=1",
    "/api/bundle/x.y#z",
    "/api/bundle/x y",
    "/api/bundle/x\r\nEvil: 1",
    "/api/bundle/",
    "/api/apply",
    "api/bundle/x.y",
  ];
  for (const url of foreign) {
    await t.step(`refuses ${JSON.stringify(url)}`, async () => {
      const before = raw.requests.length;
      await assert.rejects(pickup(url), /its pickup URL leads elsewhere/);
      assert.equal(raw.requests.length, before);
    });
  }
  await t.step("throws status 410 for a used pickup", async () => {
    raw.behave = jsonAnswer(410, { error: "Cannot pick up: it is unknown, expired or used" });
    await assert.rejects(pickup("/api/bundle/x.y"), { failure: "pickupGone", status: 410 });
  });
});

Deno.test("GatewayClient.bind() sends its request once, even if it fails", async (t) => {
  const { signal } = new AbortController();
  const failures: Parameters<typeof startRawGateway>[0][] = [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
    answer(307, "", { Location: "/api/bind" }),
    jsonAnswer(504, { error: "Cannot bind: not Ready" }),
  ];
  for (const [i, failure] of failures.entries()) {
    await t.step(`failure ${i + 1}`, async () => {
      await using raw = await startRawGateway(failure);
      const client = new GatewayClient({ server: raw.url, token: "t" });
      await assert.rejects(client.bind("widgets", signal), { name: "GatewayError" });
      assert.equal(raw.requests.length, 1);
      assert.match(raw.requests[0] ?? "", /^POST \/api\/bind .*\{"export":"widgets"\}$/s);
    });
  }
});
