/**
 * The test command. Modes: `ok` (checks and unit tests), `unit`, `e2e` (tests on real control
 * planes), `soak` (long tests, and longer forms of some others); without a mode, `ok` and `e2e`.
 * A failed check ends the run before any test starts. `--shard=1/4` runs a quarter of the files.
 * Other arguments go to `deno test`. The last line is `N passed, M failed[, K skipped]`.
 */
import path from "node:path";
import { packBackend, packCli, packKonnector } from "../scripts/build/pack.ts";
import { buildUi } from "../scripts/build_ui.ts";
import { say } from "../scripts/say.ts";
import { chromiumBinary } from "../scripts/tools/chromium.ts";
import { helmBinary } from "../scripts/tools/helm.ts";
import { promtoolBinary } from "../scripts/tools/promtool.ts";
import { hasLongerForm, longestFirst, testFilesIn } from "./longest_first.ts";
import { startSharedPlanes } from "./support/planes/control_planes.ts";
import { SOAK_VARIABLE } from "./support/planes/soak.ts";
import { Backend } from "./support/programs/backend.ts";
import { CLI_VARIABLE } from "./support/programs/cli.ts";
import { Konnector } from "./support/programs/konnector.ts";
import { addTallies, type Tally, tallyLine, tallyOf } from "./tally.ts";
import { filesOfShard, parseTestPlan, runStages, type Stage, type TestPlan } from "./test_plan.ts";

const script = (file: string, ...args: string[]) => ["run", "--quiet", "-A", file, ...args];
const CHECKS: readonly [name: string, args: string[]][] = [
  ["Deno is new enough", script("scripts/checks/check_deno.ts")],
  ["the UI can be embedded", script("scripts/build_ui.ts")],
  ["format", ["fmt", "--check"]],
  ["lint", ["lint", "--quiet"]],
  ["types", ["check", "--quiet", "."]],
  ["import directions", script("scripts/checks/check_imports.ts")],
  ["generated files are current", script("scripts/docs.ts", "--check")],
];
const UNIT_TESTS = [
  "common/",
  "server/",
  "cli/",
  "konnector/",
  "ui/",
  "scripts/",
  "tests/support/",
  "tests/longest_first_test.ts",
  "tests/tally_test.ts",
  "tests/test_plan_test.ts",
  "bench/",
];
const END_TO_END_TESTS = ["tests/e2e/", "tests/browser/"];
/**
 * Makes the garbage collector of Go run less often. The control planes take a fifth less processor
 * time, and half as much memory more.
 */
const LAZY_COLLECTION = ["GOGC", "400"] as const;

/**
 * Twice the time of all end-to-end tests on a busy machine. Without a limit, a run with one test
 * that never ends would never say so.
 */
const LONGEST_EVERYDAY_RUN_MS = 55 * 60_000;

/**
 * Runs deno with these arguments, passes its output through, and returns it. After the time limit,
 * it is interrupted: `deno test` then lists the tests that have not ended.
 */
async function runDeno(
  args: readonly string[],
  env: Record<string, string> = {},
  limitMs?: number,
): Promise<{ success: boolean; output: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const interrupt = () => {
    say(`Interrupted after ${(limitMs ?? 0) / 60_000} minutes, because a test may never end`);
    child.kill("SIGINT");
  };
  const limit = limitMs === undefined ? undefined : setTimeout(interrupt, limitMs);
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
  clearTimeout(limit);
  return { success, output };
}

async function runChecks(): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const [name, args] of CHECKS) {
    const { success } = await runDeno(args);
    say(`${success ? "ok    " : "FAILED"} ${name}`);
    tallies.push({ passed: success ? 1 : 0, failed: success ? 0 : 1, skipped: 0 });
  }
  return addTallies(tallies);
}

async function runTests(
  files: readonly string[],
  options: readonly string[],
  env: Record<string, string> = {},
  limitMs?: number,
): Promise<Tally> {
  // Without files, deno test would run all of them.
  if (files.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  const args = ["test", "-A", "--parallel", "--no-check", ...options, ...files];
  const { success, output } = await runDeno(args, env, limitMs);
  return tallyOf(output, success);
}

const runUnitTests = ({ options }: TestPlan): Promise<Tally> =>
  runTests(UNIT_TESTS, ["--sanitize-ops", "--sanitize-resources", ...options]);

/** Runs tests that share two control planes, the packed programs, Helm, promtool and Chromium. */
async function runOnControlPlanes({ mode, shard, options }: TestPlan): Promise<Tally> {
  const everyDay = END_TO_END_TESTS.flatMap(testFilesIn);
  const all = mode === "soak"
    ? [...testFilesIn("tests/soak/"), ...everyDay.filter(hasLongerForm)]
    : everyDay;
  const files = longestFirst(shard ? filesOfShard(all, shard) : all);
  const dir = await Deno.makeTempDir({ prefix: "xbind-tests-" });
  Deno.env.set(...LAZY_COLLECTION);
  try {
    const backend = path.join(dir, "xbind-backend.js");
    const konnector = path.join(dir, "xbind-konnector.js");
    const cli = path.join(dir, "cli");
    await packBackend(backend);
    await packKonnector(konnector);
    await packCli(cli, Deno.execPath());
    // Before the tests, so that none of them waits. Tests that need a missing program fail.
    const helm = await helmBinary().catch((error) => (say(error.message), ""));
    const promtool = await promtoolBinary().catch((error) => (say(error.message), ""));
    const chromium = await chromiumBinary().catch((error) => (say(error.message), ""));
    await using planes = await startSharedPlanes();
    const env = {
      ...planes.env,
      [Backend.variable]: backend,
      [Konnector.variable]: konnector,
      [CLI_VARIABLE]: cli,
      HELM_BIN: helm,
      PROMTOOL_BIN: promtool,
      CHROME_PATH: chromium,
      // Longer forms also measure times, so each has the machine for itself.
      ...(mode === "soak" ? { [SOAK_VARIABLE]: "1", DENO_JOBS: "1" } : { DENO_JOBS: "4" }),
    };
    return await runTests(
      files,
      options,
      env,
      mode === "soak" ? undefined : LONGEST_EVERYDAY_RUN_MS,
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function stagesOf(plan: TestPlan): Stage[] {
  const checks = { isGate: true, run: runChecks };
  const unit = { run: () => runUnitTests(plan) };
  const onControlPlanes = { run: () => runOnControlPlanes(plan) };
  switch (plan.mode) {
    case "unit":
      return [{ run: async () => (await buildUi(), await runUnitTests(plan)) }];
    case "ok":
      return [checks, unit];
    case "all":
      return [checks, unit, onControlPlanes];
    default:
      return [onControlPlanes];
  }
}

let plan: TestPlan;
try {
  plan = parseTestPlan(Deno.args);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  Deno.exit(2);
}
const total = await runStages(stagesOf(plan));
say(tallyLine(total));
Deno.exit(total.failed === 0 ? 0 : 1);
