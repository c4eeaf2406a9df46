import assert from "node:assert/strict";
import { importFaults, importsOf } from "./check_imports.ts";

const CASES: [string, Record<string, string[]>, RegExp | undefined][] = [
  ["an import downwards", { "common/kube/a.ts": ["common/api/names.ts"] }, undefined],
  ["an import upwards", { "common/kube/a.ts": ["common/consumer/b.ts"] }, /may not use/],
  ["common ground using a program", { "common/api/a.ts": ["server/bind/b.ts"] }, /may not use/],
  ["a program using another", { "cli/run/a.ts": ["server/bind/b.ts"] }, /may not use/],
  ["the backend using the client", { "server/bind/a.ts": ["cli/gateway/b.ts"] }, /may not use/],
  [
    "the konnector using the backend",
    { "konnector/sync/a.ts": ["server/errors.ts"] },
    /may not use/,
  ],
  [
    "the konnector using the client",
    { "konnector/sync/a.ts": ["cli/gateway/b.ts"] },
    /may not use/,
  ],
  ["the sync using a base file", { "konnector/sync/a.ts": ["konnector/pause.ts"] }, undefined],
  ["the sync using the manager", { "konnector/sync/a.ts": ["konnector/manager.ts"] }, /may not/],
  ["the sync using bindings", { "konnector/sync/a.ts": ["konnector/bindings/b.ts"] }, /may not/],
  ["a base file using bindings", { "konnector/pause.ts": ["konnector/bindings/b.ts"] }, /may not/],
  ["a base file using the manager", { "konnector/pause.ts": ["konnector/manager.ts"] }, /may not/],
  ["the manager using a folder", { "konnector/manager.ts": ["konnector/sync/b.ts"] }, undefined],
  ["a base file using a command", { "cli/options.ts": ["cli/run/b.ts"] }, /may not use/],
  ["the gateway using the issuer", { "server/gateway/a.ts": ["server/issuer/b.ts"] }, /may not/],
  ["the configuration using a module", { "server/config.ts": ["server/bind/b.ts"] }, /may not/],
  ["a bind using the issuer", { "server/bind/a.ts": ["server/issuer/b.ts"] }, /may not use/],
  ["main using the reaper", { "server/main.ts": ["server/reaper/b.ts"] }, /never/],
  ["an import of the entry", { "tests/e2e/a_test.ts": ["server/main.ts"] }, /entry/],
  ["an import of another entry", { "tests/e2e/a_test.ts": ["konnector/main.ts"] }, /entry/],
  ["an import of a test", { "tests/e2e/a.ts": ["tests/e2e/b_test.ts"] }, /imports a test/],
  ["scripts using tests", { "scripts/a.ts": ["tests/support/b.ts"] }, /may not use/],
  ["bench using end-to-end tests", { "bench/a.ts": ["tests/e2e/b.ts"] }, /may not use/],
  ["bench using test support", { "bench/a.ts": ["tests/support/b.ts"] }, undefined],
  ["a module using test support", { "cli/run/a.ts": ["tests/support/b.ts"] }, /may not use/],
  ["a unit test using it", { "cli/run/a_test.ts": ["tests/support/b.ts"] }, undefined],
  ["a folder without a rule", { "attic/a.ts": ["common/errors.ts"] }, /no rule/],
  [
    "a command in the backend",
    { "server/bind/a.ts": ["common/kube/exec_credential.ts"] },
    /only cli/,
  ],
  [
    "a command in the konnector",
    { "konnector/sync/a.ts": ["common/kube/exec_credential.ts"] },
    /only cli/,
  ],
  ["a command in the client", { "cli/run/a.ts": ["common/kube/exec_credential.ts"] }, undefined],
  ["the UI using the server", { "ui/a.tsx": ["server/bind/b.ts"] }, /may not use/],
  ["the UI using resources", { "ui/a.tsx": ["common/api/resources.ts"] }, /may not use/],
  ["the UI using wire shapes", { "ui/a.tsx": ["common/api/wire.ts"] }, undefined],
  [
    "a circle",
    { "bench/a.ts": ["bench/b.ts"], "bench/b.ts": ["bench/a.ts"] },
    /cycle: bench\/a.ts → bench\/b.ts → bench\/a.ts/,
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

Deno.test("importsOf() finds imports of every form", () => {
  const source = [
    'import a from "./a.ts";',
    'import type { B } from "../b.ts";',
    "import {\n  c,\n  d,\n} from './ignored.ts';",
    'import {\n  e,\n} from "../api/e.ts";',
    'export * from "./f.ts";',
    'const g = await import("./g.ts");',
    'import "./h.ts";',
    'import path from "node:path";',
  ].join("\n");
  assert.deepEqual(importsOf("server/kube/x.ts", source), [
    "server/kube/a.ts",
    "server/b.ts",
    "server/api/e.ts",
    "server/kube/f.ts",
    "server/kube/g.ts",
    "server/kube/h.ts",
  ]);
});
