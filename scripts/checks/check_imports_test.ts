import assert from "node:assert/strict";
import { importFaults, importsOf } from "./check_imports.ts";

const CASES: [string, Record<string, string[]>, RegExp | undefined][] = [
  ["an import downwards", { "server/kube/a.ts": ["common/api/names.ts"] }, undefined],
  ["an import upwards", { "server/kube/a.ts": ["server/gateway/b.ts"] }, /may not use/],
  ["the gateway importing the issuer", { "server/gateway/a.ts": ["server/issuer/b.ts"] }, /never/],
  ["an import of the entry", { "server/kube/a.ts": ["server/main.ts"] }, /entry/],
  [
    "a command in the backend",
    { "server/kube/a.ts": ["common/kube/exec_credential.ts"] },
    /only cli/,
  ],
  ["a command in the client", { "cli/a.ts": ["common/kube/exec_credential.ts"] }, undefined],
  ["the UI using the server", { "ui/a.tsx": ["common/kube/client.ts"] }, /may not use/],
  ["the UI using resources", { "ui/a.tsx": ["common/api/resources.ts"] }, /may not use/],
  ["the UI using wire shapes", { "ui/a.tsx": ["common/api/wire.ts"] }, undefined],
  [
    "a circle",
    { "server/a.ts": ["server/b.ts"], "server/b.ts": ["server/a.ts"] },
    /cycle: server\/a.ts → server\/b.ts → server\/a.ts/,
  ],
];

Deno.test("importFaults() judges", async (t) => {
  for (const [name, imports, expected] of CASES) {
    await t.step(name, () => {
      const faults = importFaults(new Map(Object.entries(imports))).join("\n");
      if (expected) assert.match(faults, expected);
      else assert.equal(faults, "");
    });
  }
});

Deno.test("importsOf() finds static, type-only, re-exporting, long and dynamic imports", () => {
  const source = [
    'import a from "../a.ts";',
    'import type { B } from "../../b.ts";',
    "import {\n  c,\n  d,\n} from './ignored.ts';",
    'import {\n  e,\n} from "../../api/e.ts";',
    'export * from "../f.ts";',
    'const g = await import("../g.ts");',
    'import path from "node:path";',
  ].join("\n");
  assert.deepEqual(importsOf("server/kube/x.ts", source), [
    "server/kube/a.ts",
    "server/b.ts",
    "server/api/e.ts",
    "server/kube/f.ts",
    "server/kube/g.ts",
  ]);
});
