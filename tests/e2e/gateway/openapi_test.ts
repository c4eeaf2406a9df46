import assert from "node:assert/strict";
import type { ProviderInfo } from "../../../common/api/wire.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { failure, Gateway, okJson, postJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";

interface Operation {
  readonly security: object[];
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const NOT_HEADED = ["/api/bundle/{token}", "/api/auth/oidc/callback"];
/** Fills the parameters of a path with an Export that exists and a pickup that does not. */
const concrete = (path: string) => path.replace("{export}", "sample").replace("{token}", "marker");

Deno.test("the OpenAPI document and the metrics cover every endpoint", async (t) => {
  const stored: Document = JSON.parse(
    await Deno.readTextFile(new URL("../../../docs/openapi.json", import.meta.url)),
  );
  await using plane = await ownPlane({ controllerManager: false });
  await using gateway = await Gateway.start(plane, { flags: ["--enable-apply"] });
  using provider = await TestProvider.of(plane);
  await provider.offer("sample", ["absent.example.org"]);
  const { token } = await gateway.login();

  await t.step("GET /api/openapi.json serves docs/openapi.json to signed-in users", async () => {
    await failure(await gateway.request("/api/openapi.json"), 401);
    const served = await gateway.read<Document>(token, "/api/openapi.json");
    assert.deepEqual(served, stored);
    assert.match(served.openapi, /^3\.1\./);
  });

  await t.step("/api/apply is missing without --enable-apply", async () => {
    const flags = ["--enable-issuer=false"];
    await using plain = await Gateway.start(plane, { flags });
    const session = (await plain.login()).token;
    const { "/api/apply": _, ...paths } = stored.paths;
    const served = await plain.read<Document>(session, "/api/openapi.json");
    assert.deepEqual(served.paths, paths);
    await failure(await plain.as(session, "/api/apply", postJson({})), 404);
    const info = await okJson<ProviderInfo>(await plain.request("/api/provider"));
    assert.deepEqual(info, {
      name: "xbind",
      version: info.version,
      authMethods: ["oidc"],
      applyEnabled: false,
    });
  });

  for (const [path, operations] of Object.entries(stored.paths)) {
    await t.step(`${path} has only the documented methods and answers`, async () => {
      const allowed = Object.keys(operations).map((method) => method.toUpperCase());
      for (const method of METHODS) {
        const init = { method, headers: { Authorization: `Bearer ${token}` } };
        const body = method === "POST" ? { body: "{}" } : {};
        const answer = await gateway.request(concrete(path), { ...init, ...body });
        const operation = operations[method.toLowerCase()];
        if (!operation) {
          const headed = allowed.includes("GET") && !NOT_HEADED.includes(path) ? ["HEAD"] : [];
          assert.equal(answer.headers.get("Allow"), [...allowed, ...headed].join(", "));
          await failure(answer, 405);
          continue;
        }
        await answer.body?.cancel();
        assert.ok(![404, 405].includes(answer.status), `${method} is ${answer.status}`);
        const documented = operation.responses[answer.status];
        assert.ok(documented, `${method} gave the undocumented ${answer.status}`);
        const [type = ""] = answer.headers.get("Content-Type")?.split(";") ?? [];
        const types = Object.keys(documented.content ?? {});
        assert.ok(types.length === 0 || types.includes(type), `${method} gave ${type}`);
        const etag = answer.headers.get("ETag");
        assert.equal(etag !== null, "304" in operation.responses, `${method} has ETag ${etag}`);
        if (etag !== null) {
          const known = { headers: { ...init.headers, "If-None-Match": etag } };
          const again = await gateway.request(concrete(path), { method, ...known });
          assert.equal(await again.text(), "");
          assert.equal(again.status, 304);
          assert.equal(again.headers.get("ETag"), etag);
        }
        if (operation.security.length === 0) continue;
        await failure(await gateway.request(concrete(path), { method, ...body }), 401);
      }
    });
  }

  await t.step("metrics count requests by the pattern of their route", async () => {
    await failure(await gateway.request("/api/bundle/marker"), 410);
    await failure(await gateway.request("/api/marker"), 404);
    const address = await gateway.backend.addressOf("/metrics");
    const text = await (await fetch(`${address}/metrics`)).text();
    const counted = [...text.matchAll(
      /^http_request_duration_seconds_count\{method="(\w+)",route="([^"]+)",status="(\d+)"\} \d+$/gm,
    )].map(([, method, route, status]) => `${method} ${route} ${status}`);
    const expected = [
      "GET / 200",
      "GET /api/bundle/:token 410",
      "GET /api/catalog/:export/instances 200",
      "GET /api/me 200",
      "GET /api/me 401",
      "GET /api/auth/oidc/login 302",
      "POST /api/bind 400",
    ];
    for (const line of expected) {
      assert.ok(counted.includes(line), `${line}: ${counted.join(", ")}`);
    }
    const patterns = Object.keys(stored.paths).map((path) => path.replace(/\{(\w+)\}/g, ":$1"));
    for (const line of counted) {
      const [, route = ""] = line.split(" ");
      assert.ok([...patterns, "unknown"].includes(route), line);
    }
    assert.ok(!text.includes("marker") && !text.includes("sample"));
  });
});
