import assert from "node:assert/strict";
import { packagesIn, pinnedPackages } from "./runtime_packages.ts";

Deno.test("packagesIn() names the packages whose code a module imports", async (t) => {
  const cases: [source: string, packages: string[]][] = [
    ['import { Hono } from "hono";', ["hono"]],
    ['import { jsx } from "hono/jsx";', ["hono"]],
    ['import "@hono/node-server/serve";', ["@hono/node-server"]],
    ['export { parse } from "yaml";', ["yaml"]],
    ['const { x } = await import("commander");', ["commander"]],
    ['import x from "npm:left-pad@1.0.0";', ["left-pad"]],
    ['import fs from "node:fs";\nimport { a } from "../a.ts";', []],
    ["const text = 'nothing';", []],
    ['import type * as k8s from "@kubernetes/client-node";', []],
    ['import type {\n  Node,\n} from "yaml";\nimport { parse } from "yaml";', ["yaml"]],
    ['export type { Node } from "yaml";', []],
    ['import { type Node } from "yaml";', ["yaml"]],
    ['export type Text = string;\nimport { parse } from "yaml";', ["yaml"]],
    ['export type Answer = "yes";\nexport { parse } from "yaml";', ["yaml"]],
  ];
  for (const [source, packages] of cases) {
    await t.step(source, () => assert.deepEqual(packagesIn(source), packages));
  }
});

Deno.test("pinnedPackages() refuses what is not one version", () => {
  const imports = { hono: "npm:hono@4.1.2", "hono/": "npm:/hono@4.1.2/" };
  assert.deepEqual(pinnedPackages(imports), [["hono", "4.1.2"]]);
  for (const target of ["npm:hono@^4", "npm:hono", "jsr:@std/yaml@1.0.0", "https://example.org"]) {
    assert.throws(() => pinnedPackages({ hono: target }), /not pinned/);
  }
});
