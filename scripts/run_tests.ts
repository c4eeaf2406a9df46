/**
 * The test command: `ok` (checks and unit tests), `e2e` (tests on real control planes), or both.
 * Arguments after `--` go to `deno test`. Ends with one line: `N passed, M failed[, K skipped]`.
 */
import { BUNDLE_VARIABLE } from "../tests/support/backend.ts";
import { startSharedPlanes } from "../tests/support/control_planes.ts";
import { bundleBackend } from "./build.ts";
import { say } from "./say.ts";
import { addTallies, type Tally, tallyLine, tallyOf } from "./tally.ts";

const CHECKS: [name: string, args: string[]][] = [
  ["Deno is new enough", ["run", "--quiet", "-A", "scripts/check_deno.ts"]],
  ["format", ["fmt", "--check"]],
  ["lint", ["lint", "--quiet"]],
  ["types", ["check", "--quiet", "."]],
  ["import directions", ["run", "--quiet", "-A", "scripts/check_imports.ts"]],
  ["docs/flags.md is current", ["run", "--quiet", "-A", "scripts/flags_doc.ts", "--check"]],
  ["docs/openapi.json is current", ["run", "--quiet", "-A", "scripts/openapi_doc.ts", "--check"]],
];
const UNIT_TESTS = ["server/", "cli/", "ui/", "scripts/"];
const END_TO_END_TESTS = ["tests/"];

/** Runs deno with these arguments, output passed through, and returns what it printed. */
async function runDeno(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ success: boolean; output: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const decoder = new TextDecoder();
  let output = "";
  const pass = async (from: ReadableStream<Uint8Array>, to: typeof Deno.stdout) => {
    for await (const chunk of from) {
      output += decoder.decode(chunk, { stream: true });
      to.writeSync(chunk);
    }
  };
  const [{ success }] = await Promise.all([
    child.status,
    pass(child.stdout, Deno.stdout),
    pass(child.stderr, Deno.stderr),
  ]);
  return { success, output };
}

async function runChecks(): Promise<Tally> {
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const [name, args] of CHECKS) {
    const { success } = await runDeno(args);
    say(`${success ? "ok    " : "FAILED"} ${name}`);
    if (success) tally.passed++;
    else tally.failed++;
  }
  return tally;
}

async function runTests(
  paths: string[],
  extra: string[],
  env: Record<string, string> = {},
): Promise<Tally> {
  const args = ["test", "-A", "--parallel", "--no-check", ...extra, ...paths.filter(exists)];
  const { success, output } = await runDeno(args, env);
  return tallyOf(output, success);
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

const [first = "all"] = Deno.args;
const mode = first === "ok" || first === "e2e" ? first : "all";
const extra = Deno.args.filter((arg) => arg !== "ok" && arg !== "e2e" && arg !== "--");
const tallies: Tally[] = [];
if (mode !== "e2e") {
  tallies.push(await runChecks());
  tallies.push(await runTests(UNIT_TESTS, ["--sanitize-ops", "--sanitize-resources", ...extra]));
}
if (mode !== "ok") {
  const dir = await Deno.makeTempDir({ prefix: "xbind-tests-" });
  try {
    const bundle = `${dir}/xbind-backend.js`;
    await bundleBackend(bundle);
    await using planes = await startSharedPlanes();
    const env = { ...planes.env, [BUNDLE_VARIABLE]: bundle, DENO_JOBS: "3" };
    tallies.push(await runTests(END_TO_END_TESTS, extra, env));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
const total = addTallies(tallies);
say(tallyLine(total));
Deno.exit(total.failed === 0 ? 0 : 1);
