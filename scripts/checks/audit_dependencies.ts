/**
 * Asks the package registry for known vulnerabilities of shipped packages. Exit code 0: none;
 * 1: some; 3: the registry could not be asked.
 */
import { join } from "node:path";
import { runtimePackages } from "./runtime_packages.ts";
import { say } from "../say.ts";

/** The known vulnerabilities of shipped packages. */
export interface DependencyAudit {
  /** `name: severity`, sorted. */
  readonly vulnerabilities: readonly string[];
}

interface AuditReport {
  readonly vulnerabilities?: Record<string, { readonly severity: string }>;
}

const npm = async (dir: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await new Deno.Command("npm", {
    args: [...args],
    cwd: dir,
    stdin: "null",
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
};

/** Audits shipped packages and their dependencies; undefined if the registry cannot be asked. */
export async function auditDependencies(): Promise<DependencyAudit | undefined> {
  const dir = await Deno.makeTempDir({ prefix: "xbind-audit-" });
  try {
    const dependencies = Object.fromEntries(await runtimePackages());
    const manifest = { name: "audited", version: "0.0.0", private: true, dependencies };
    await Deno.writeTextFile(join(dir, "package.json"), JSON.stringify(manifest));
    await npm(dir, ["install", "--package-lock-only", "--ignore-scripts", "--no-audit"]);
    const report: AuditReport = JSON.parse(await npm(dir, ["audit", "--omit=dev", "--json"]));
    if (!report.vulnerabilities) return undefined;
    const found = Object.entries(report.vulnerabilities);
    return { vulnerabilities: found.map(([name, { severity }]) => `${name}: ${severity}`).sort() };
  } catch (error) {
    // There is no npm, or it printed an error instead of JSON.
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

if (import.meta.main) {
  const audit = await auditDependencies();
  if (!audit) {
    say("SKIPPED: the registry answers no audit from here");
    Deno.exit(3);
  }
  for (const line of audit.vulnerabilities) say(line);
  say(`${audit.vulnerabilities.length} known vulnerabilities in what is shipped`);
  Deno.exit(audit.vulnerabilities.length === 0 ? 0 : 1);
}
