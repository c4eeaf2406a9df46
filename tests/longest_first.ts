/**
 * The test files that take longest, the slowest first (35 to 180 seconds each). They start first,
 * because a long file that starts last leaves the other jobs idle.
 */
export const LONGEST: readonly string[] = [
  "tests/e2e/konnector/link_test.ts",
  "tests/e2e/konnector/unbind_away_test.ts",
  "tests/e2e/konnector/fault_matrix_test.ts",
  "tests/e2e/konnector/rest_test.ts",
  "tests/e2e/konnector/credential_test.ts",
  "tests/e2e/konnector/visible_test.ts",
  "tests/e2e/konnector/refusal_test.ts",
  "tests/e2e/process/faults_test.ts",
  "tests/e2e/release/chart_rights_test.ts",
  "tests/e2e/release/docs_commands_test.ts",
  "tests/e2e/gateway/outage_test.ts",
  "tests/e2e/cli/wait_test.ts",
  "tests/e2e/konnector/options_test.ts",
  "tests/e2e/konnector/crash_matrix_test.ts",
  "tests/e2e/konnector/hostile_provider_test.ts",
  "tests/e2e/process/audit_lines_test.ts",
  "tests/browser/gallery_test.ts",
  "tests/e2e/konnector/binding_test.ts",
  "tests/e2e/reaper/reap_test.ts",
  "tests/e2e/gateway/authorization_test.ts",
  "tests/e2e/konnector/related_test.ts",
  "tests/e2e/konnector/object_policy_test.ts",
  "tests/e2e/issuer/etcd_outage_test.ts",
  "tests/e2e/bind/gateway_bind_test.ts",
  "tests/e2e/konnector/sync_test.ts",
  "tests/e2e/konnector/related_safety_test.ts",
  "tests/e2e/konnector/random_history_test.ts",
  "tests/browser/states_test.ts",
  "tests/e2e/gateway/limits_test.ts",
  "tests/e2e/release/control_plane_lifetime_test.ts",
  "tests/e2e/konnector/whole_loop_test.ts",
  "tests/e2e/reaper/crash_test.ts",
  "tests/e2e/issuer/reaper_test.ts",
  "tests/e2e/konnector/restart_test.ts",
];

/** Orders test files for `deno test --parallel`, which starts them as listed. */
export function longestFirst(files: readonly string[]): string[] {
  const rank = (file: string) => {
    const index = LONGEST.indexOf(file);
    return index < 0 ? LONGEST.length : index;
  };
  return files.toSorted((a, b) => rank(a) - rank(b));
}

/** Lists the test files in a folder and its folders; a file stands for itself. */
export function testFilesIn(place: string): string[] {
  if (!place.endsWith("/")) return [place];
  return [...Deno.readDirSync(place)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return testFilesIn(`${place}${name}/`);
    return /_test\.tsx?$/.test(name) ? [`${place}${name}`] : [];
  });
}

/** Returns whether tests of a file ask for more in `deno task test:soak`. */
export const hasLongerForm = (file: string): boolean =>
  Deno.readTextFileSync(file).includes("planes/soak.ts");
