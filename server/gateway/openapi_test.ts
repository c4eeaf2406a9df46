import assert from "node:assert/strict";
import { type AppDeps, createApp } from "./app.ts";
import { openApiDocument } from "./openapi.ts";

/** Has enough to build the router, which gets no request. */
const routes = (enableApply: boolean): string[] => {
  const config = { enableApply, rateLimit: 0, konnectorImage: "image" };
  const deps = { config, login: {}, inventory: {}, bind: {}, pickup: {}, apply: {} };
  return createApp(deps as unknown as AppDeps).routes
    .filter(({ method, path }) => method !== "ALL" && !path.startsWith("/assets/")) // no API
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
};

const operations = (enableApply: boolean): string[] =>
  Object.entries(openApiDocument({ enableApply }).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );

Deno.test("openApiDocument() has the router's endpoints and no others", () => {
  for (const enableApply of [true, false]) {
    const unique = [...new Set(routes(enableApply))].sort();
    assert.deepEqual(operations(enableApply).sort(), unique);
    assert.equal(unique.includes("POST /api/apply"), enableApply);
    assert.ok(unique.length >= 15, String(unique));
  }
});

Deno.test("openApiDocument() refers only to schemas that it has, and uses all of them", () => {
  const document = openApiDocument({ enableApply: true });
  const text = JSON.stringify(document);
  const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(named)].sort(), Object.keys(document.components.schemas).sort());
});

Deno.test("openApiDocument() declares the parameters of every path", () => {
  const { paths } = openApiDocument({ enableApply: true });
  for (const [path, methods] of Object.entries(paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const operation of Object.values(methods)) {
      const { parameters = [] } = operation as { parameters?: { in: string; name: string }[] };
      const declared = parameters.filter((each) => each.in === "path").map(({ name }) => name);
      assert.deepEqual(declared, inPath, path);
    }
  }
});
