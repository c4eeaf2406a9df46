import assert from "node:assert/strict";
import { auditDependencies } from "../../../scripts/checks/audit_dependencies.ts";
import { pinnedPackages, runtimePackages } from "../../../scripts/checks/runtime_packages.ts";

const ROOT = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));
const MAX_RUNTIME_PACKAGES = 10;
const ENTRIES = ["server/main.ts", "konnector/main.ts", "cli/main.ts", "mod.ts"];

interface LockFile {
  readonly specifiers: Record<string, string>;
  readonly npm: Record<string, { readonly integrity?: string; readonly dependencies?: string[] }>;
}

const config = JSON.parse(await read("deno.json"));
const lock: LockFile = JSON.parse(await read("deno.lock"));
const audit = await auditDependencies();

Deno.test("deno.lock is frozen, pins every import, and has a hash for every package", () => {
  assert.equal(config.lock.frozen, true);
  for (const [name, version] of pinnedPackages(config.imports)) {
    assert.match(lock.specifiers[`npm:${name}@${version}`] ?? "", new RegExp(`^${version}(_|$)`));
  }
  const packages = Object.entries(lock.npm);
  assert.ok(packages.length > 10);
  const known = new Set(packages.map(([key]) => nameOf(key)));
  for (const [key, { integrity, dependencies = [] }] of packages) {
    assert.match(integrity ?? "", /^sha512-/, key);
    for (const dependency of dependencies) assert.ok(known.has(nameOf(dependency)), dependency);
  }
  for (const specifier of Object.keys(lock.specifiers)) assert.match(specifier, /^npm:/);
});

Deno.test("deno.lock has every package that a shipped program needs", async () => {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen", "--entrypoint", ...ENTRIES],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
});

Deno.test("ADR 9 gives a reason for each of the few runtime dependencies", async () => {
  const reasons = await read("docs/adr/0009-dependencies.md");
  const rows = [...reasons.matchAll(/^\| (`[^|]+)\|([^|]+)\|$/gm)];
  const documented = rows.flatMap(([, names = "", reason = ""]) => {
    assert.ok(reason.trim().length > 20, names);
    return [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  });
  const shipped = (await runtimePackages()).map(([name]) => name);
  assert.deepEqual(documented.sort(), shipped.sort());
  assert.ok(shipped.length <= MAX_RUNTIME_PACKAGES);
  const others = pinnedPackages(config.imports).map(([name]) => name);
  for (const name of others) assert.ok(reasons.includes(`\`${name}\``), `${name} has no reason`);
});

Deno.test({
  name: "no shipped package has a known vulnerability",
  ignore: audit === undefined, // the registry cannot be reached from here
  fn: () => assert.deepEqual(audit?.vulnerabilities, []),
});

/** Returns the package name of a key such as `name@version_peer@version`. */
const nameOf = (key: string): string => /^(@?[^@]+)/.exec(key)?.[1] ?? key;
