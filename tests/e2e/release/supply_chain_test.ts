import assert from "node:assert/strict";
import { auditDependencies } from "../../../scripts/checks/audit_dependencies.ts";
import { pinnedPackages, runtimePackages } from "../../../scripts/checks/runtime_packages.ts";

const ROOT = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));
const MAX_RUNTIME_PACKAGES = 10;

interface LockFile {
  readonly specifiers: Record<string, string>;
  readonly npm: Record<string, { readonly integrity?: string; readonly dependencies?: string[] }>;
}

const config = JSON.parse(await read("deno.json"));
const lock: LockFile = JSON.parse(await read("deno.lock"));
const audit = await auditDependencies();

Deno.test("deno.lock is frozen, pins every import, and knows every file by its hash", () => {
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

Deno.test("deno.lock is complete: nothing that is shipped needs more", async () => {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen", "--entrypoint", "server/main.ts", "cli/main.ts", "mod.ts"],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
});

Deno.test("there are few runtime dependencies, each with its reason", async () => {
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
  name: "nothing that is shipped has a known vulnerability",
  ignore: audit === undefined, // the registry answers no audit from here
  fn: () => assert.deepEqual(audit?.vulnerabilities, []),
});

/** `name@version_peer@version` and the like without the versions. */
const nameOf = (key: string): string => /^(@?[^@]+)/.exec(key)?.[1] ?? key;
