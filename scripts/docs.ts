/**
 * Writes every file that is generated from code. With `--check` it writes nothing, and fails when a
 * file is not current.
 */
import { PROGRAM as KONNECTOR } from "../konnector/config.ts";
import { FLAG_GROUPS as KONNECTOR_FLAGS } from "../konnector/flag_table.ts";
import { PROGRAM as BACKEND } from "../server/config.ts";
import { FLAG_GROUPS as BACKEND_FLAGS } from "../server/flag_table.ts";
import { openApiDocument } from "../server/gateway/openapi.ts";
import { BACKEND_DASHBOARD } from "./docs/backend_dashboard.ts";
import { chartDoc } from "./docs/chart_doc.ts";
import { chartFlags } from "./docs/chart_flags.ts";
import { chartValues } from "./docs/chart_values.ts";
import { crdsDoc } from "./docs/crds_doc.ts";
import { crdsText } from "./docs/crds_json.ts";
import { dashboardText } from "./docs/dashboard.ts";
import { flagsDoc } from "./docs/flags_doc.ts";
import { KONNECTOR_DASHBOARD } from "./docs/konnector_dashboard.ts";
import { say } from "./say.ts";

const ROOT = new URL("../", import.meta.url);
const read = (path: string): Promise<string> => Deno.readTextFile(new URL(path, ROOT));

/** A generated file, the source to edit instead of it, and its text. */
interface GeneratedFile {
  readonly path: string;
  readonly source: string;
  readonly text: () => string | Promise<string>;
}

/** Every generated file of the repository. */
export const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: "common/api/crds_generated.json", source: "crds/", text: crdsText },
  {
    path: "docs/crds.md",
    source: "crds/",
    text: async () => crdsDoc(Object.values(JSON.parse(await crdsText()))),
  },
  {
    path: "docs/flags.md",
    source: "server/flag_table.ts and konnector/flag_table.ts",
    text: () => flagsDoc({ [BACKEND.name]: BACKEND_FLAGS, [KONNECTOR.name]: KONNECTOR_FLAGS }),
  },
  {
    path: "docs/openapi.json",
    source: "server/gateway/openapi.ts",
    text: () => `${JSON.stringify(openApiDocument({ enableApply: true }), null, 2)}\n`,
  },
  {
    path: "docs/chart-values.md",
    source: "deploy/chart/",
    text: async () =>
      chartDoc(
        chartValues(await read("deploy/chart/values.yaml")),
        chartFlags(await read("deploy/chart/templates/_flags.tpl")),
      ),
  },
  {
    path: "deploy/chart/files/dashboard.json",
    source: "scripts/docs/backend_dashboard.ts",
    text: () => dashboardText(BACKEND_DASHBOARD),
  },
  {
    path: "deploy/konnector/dashboard.json",
    source: "scripts/docs/konnector_dashboard.ts",
    text: () => dashboardText(KONNECTOR_DASHBOARD),
  },
];

if (import.meta.main) {
  const isCheck = Deno.args.includes("--check");
  let stale = 0;
  for (const { path, source, text } of GENERATED_FILES) {
    const wanted = await text();
    if (await read(path).catch(() => "") === wanted) continue;
    stale++;
    if (isCheck) say(`${path} differs from ${source}: run deno task docs`);
    else {
      await Deno.writeTextFile(new URL(path, ROOT), wanted);
      say(`${path} is written`);
    }
  }
  say(`${GENERATED_FILES.length} generated files, ${stale} ${isCheck ? "stale" : "changed"}`);
  if (isCheck && stale > 0) Deno.exit(1);
}
