/**
 * The test files that take longest, the slowest first (40 to 150 seconds each). They start first,
 * because a long file that starts last leaves the other jobs idle.
 */
export const LONGEST: readonly string[] = [
  "tests/browser/gallery_test.ts",
  "tests/e2e/issuer/rights_matrix_test.ts",
  "tests/e2e/process/faults_test.ts",
  "tests/e2e/release/chart_rights_test.ts",
  "tests/e2e/konnector/fault_matrix_test.ts",
  "tests/e2e/konnector/rest_test.ts",
  "tests/e2e/konnector/crash_matrix_test.ts",
  "tests/e2e/konnector/hostile_provider_test.ts",
  "tests/e2e/konnector/link_test.ts",
  "tests/e2e/konnector/credential_test.ts",
  "tests/e2e/release/docs_commands_test.ts",
  "tests/e2e/gateway/outage_test.ts",
  "tests/e2e/process/crash_test.ts",
  "tests/e2e/reaper/crash_test.ts",
  "tests/browser/states_test.ts",
  "tests/e2e/cli/wait_test.ts",
  "tests/e2e/issuer/outage_test.ts",
  "tests/e2e/gateway/schemathesis_test.ts",
  "tests/e2e/release/build_test.ts",
  "tests/e2e/issuer/etcd_outage_test.ts",
  "tests/e2e/konnector/refusal_test.ts",
  "tests/e2e/konnector/exact_data_test.ts",
  "tests/e2e/bind/crash_matrix_apply_test.ts",
  "tests/e2e/bind/gateway_bind_test.ts",
  "tests/e2e/release/image_test.ts",
  "tests/e2e/reaper/reap_test.ts",
  "tests/e2e/reaper/crowded_heartbeats_test.ts",
  "tests/browser/bind_test.ts",
  "tests/browser/apply_test.ts",
  "tests/browser/sign_in_test.ts",
  "tests/e2e/process/audit_lines_test.ts",
  "tests/e2e/process/crash_matrix_crds_test.ts",
  "tests/e2e/bind/single_use_test.ts",
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

/** Tells whether tests of a file ask for more in `deno task test:soak`. */
export const hasLongerForm = (file: string): boolean =>
  Deno.readTextFileSync(file).includes("planes/soak.ts");
