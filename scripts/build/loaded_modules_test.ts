import assert from "node:assert/strict";
import { loadedModules, type ModuleGraph } from "./loaded_modules.ts";

const code = (specifier: string) => ({ specifier, code: { specifier } });
const type = (specifier: string) => ({ specifier, type: { specifier } });

const graph: ModuleGraph = {
  roots: ["file:///main.ts"],
  modules: [
    { specifier: "file:///main.ts", dependencies: [code("file:///a.ts"), type("file:///b.ts")] },
    { specifier: "file:///a.ts", dependencies: [code("npm:yaml@2"), code("file:///main.ts")] },
    { specifier: "file:///b.ts", dependencies: [code("npm:/left-pad@1")] },
    { specifier: "npm:/yaml@2", npmPackage: "yaml@2" },
    { specifier: "npm:/left-pad@1", npmPackage: "left-pad@1" },
  ],
  redirects: { "npm:yaml@2": "npm:/yaml@2" },
};

Deno.test("loadedModules() follows imports of code, not imports of types", () => {
  const loaded = loadedModules(graph).map(({ specifier }) => specifier);
  assert.deepEqual(loaded, ["file:///main.ts", "file:///a.ts", "npm:/yaml@2"]);
});

Deno.test("loadedModules() refuses a graph with a hole", () => {
  const holed = { ...graph, redirects: {} };
  assert.throws(() => loadedModules(holed), /"npm:yaml@2" is not in the graph/);
});
