/**
 * The test command: `ok` (checks and unit tests), `e2e` (tests on real control planes), or both;
 * `soak` for those that take long, and for longer forms of some of the others.
 * Arguments after `--` go to `deno test`. Ends with one line: `N passed, M failed[, K skipped]`.
 */
import { BACKEND_VARIABLE } from "./support/programs/backend.ts";
import { CLI_VARIABLE } from "./support/programs/cli.ts";
import { startSharedPlanes } from "./support/planes/control_planes.ts";
import { SOAK_VARIABLE } from "./support/planes/soak.ts";
import { packBackend, packCli } from "../scripts/build/pack.ts";
import { chromiumBinary } from "../scripts/tools/chromium.ts";
import { helmBinary } from "../scripts/tools/helm.ts";
import { say } from "../scripts/say.ts";
import { addTallies, type Tally, tallyLine, tallyOf } from "./tally.ts";

const CHECKS: [name: string, args: string[]][] = [
  ["Deno is new enough", ["run", "--quiet", "-A", "scripts/checks/check_deno.ts"]],
  ["the UI can be embedded", ["run", "--quiet", "-A", "scripts/build_ui.ts"]],
  ["format", ["fmt", "--check"]],
  ["lint", ["lint", "--quiet"]],
  ["types", ["check", "--quiet", "."]],
  ["import directions", ["run", "--quiet", "-A", "scripts/checks/check_imports.ts"]],
  ["docs/flags.md is current", ["run", "--quiet", "-A", "scripts/docs/flags_doc.ts", "--check"]],
  ["docs/crds.md is current", ["run", "--quiet", "-A", "scripts/docs/crds_doc.ts", "--check"]],
  ["docs/chart-values.md is current", [
    "run",
    "--quiet",
    "-A",
    "scripts/docs/chart_doc.ts",
    "--check",
  ]],
  ["the CRDs as JSON are current", [
    "run",
    "--quiet",
    "-A",
    "scripts/docs/crds_json.ts",
    "--check",
  ]],
  ["docs/openapi.json is current", [
    "run",
    "--quiet",
    "-A",
    "scripts/docs/openapi_doc.ts",
    "--check",
  ]],
];
const UNIT_TESTS = [
  "common/",
  "server/",
  "cli/",
  "ui/",
  "scripts/",
  "tests/support/",
  "tests/tally_test.ts",
  "bench/",
];
const END_TO_END_TESTS = ["tests/e2e/", "tests/browser/"];
/** The second part is run every day too, but asks more when `SOAK_VARIABLE` is set. */
const SOAK_TESTS = [
  "tests/soak/",
  "tests/e2e/process/faults_test.ts",
  "tests/e2e/issuer/rights_matrix_test.ts",
  "tests/e2e/gateway/schemathesis_test.ts",
  "tests/e2e/bind/single_use_history_test.ts",
  "tests/e2e/bind/single_use_test.ts",
];

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
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

const [first = "all"] = Deno.args;
const mode = ["ok", "e2e", "soak"].includes(first) ? first : "all";
const extra = Deno.args.filter((arg) => arg !== mode && arg !== "--");
const tallies: Tally[] = [];
if (mode === "ok" || mode === "all") {
  tallies.push(await runChecks());
  tallies.push(await runTests(UNIT_TESTS, ["--sanitize-ops", "--sanitize-resources", ...extra]));
}
if (mode !== "ok") {
  const dir = await Deno.makeTempDir({ prefix: "xbind-tests-" });
  try {
    const bundle = `${dir}/xbind-backend.js`;
    const cli = `${dir}/cli`;
    await packBackend(bundle);
    await packCli(cli, Deno.execPath());
    // Before, so that no test waits for them; the tests that need one that is missing fail.
    const helm = await helmBinary().catch((error) => (say(error.message), ""));
    const chromium = await chromiumBinary().catch((error) => (say(error.message), ""));
    await using planes = await startSharedPlanes();
    const env = {
      ...planes.env,
      [BACKEND_VARIABLE]: bundle,
      [CLI_VARIABLE]: cli,
      HELM_BIN: helm,
      CHROME_PATH: chromium,
      DENO_JOBS: "3",
    };
    const isSoak = mode === "soak";
    const soak = isSoak ? { [SOAK_VARIABLE]: "1" } : {};
    const tests = isSoak ? SOAK_TESTS : END_TO_END_TESTS;
    tallies.push(await runTests(tests, extra, { ...env, ...soak }));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
const total = addTallies(tallies);
say(tallyLine(total));
Deno.exit(total.failed === 0 ? 0 : 1);
