import path from "node:path";
import { GatewayClient } from "../cli/gateway/client.ts";
import { CLI_ENTRY, packCli } from "../scripts/build/pack.ts";
import { createAuthority, issueServerCertificate } from "../scripts/controlplane/certificates.ts";
import { CLI_RUN_FLAGS } from "../scripts/run_flags.ts";
import type { Catalog } from "../common/api/wire.ts";
import { type Figure, median, ms, timed } from "./figure.ts";

const EXPORTS = 100;
const VERSION_GOAL_MS = 45;
const CATALOG_GOAL_MS = 120;

const CATALOG: Catalog = {
  exports: Array.from({ length: EXPORTS }, (_, i) => ({
    name: `service-${i}`,
    title: `The service ${i}`,
    apis: [`things.service-${i}.example.org`],
  })),
};

/** Measures whole runs of the CLI, beside an empty script in the same run. */
export async function* benchCli(
  full: boolean,
  progress: (text: string) => void,
): AsyncGenerator<Figure> {
  progress("the command-line client");
  const dir = await Deno.makeTempDir({ prefix: "xbind-bench-cli-" });
  const authority = await createAuthority("bench");
  const listen = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const answer = () => Response.json(CATALOG);
  await using server = Deno.serve(listen, answer);
  await using tlsServer = Deno.serve(
    { ...listen, ...await issueServerCertificate(authority, ["127.0.0.1"]) },
    answer,
  );
  try {
    await packCli(path.join(dir, "cli"));
    const caFile = path.join(dir, "ca.pem");
    await Deno.writeTextFile(caFile, authority.cert);
    const empty = path.join(dir, "empty.js");
    await Deno.writeTextFile(empty, "");
    const entry = path.join(dir, "cli", CLI_ENTRY);
    const url = `http://127.0.0.1:${server.addr.port}`;
    const gateway = new GatewayClient({ server: url, token: "bench" });
    const env = { XBIND_SERVER: url, XBIND_TOKEN: "bench", DENO_NO_UPDATE_CHECK: "1" };
    const overTls = { ...env, XBIND_SERVER: `https://127.0.0.1:${tlsServer.addr.port}` };
    const times: Times = { empty: [], version: [], catalog: [], tlsCatalog: [], request: [] };
    const rounds = full ? 60 : 20;
    for (let round = -2; round < rounds; round++) { // two rounds warm the caches
      const measured = {
        empty: await timed(() => run([empty], env)),
        version: await timed(() => run([entry, "--version"], env)),
        catalog: await timed(() => run([entry, "catalog"], env)),
        tlsCatalog: await timed(() => run([entry, "catalog", "--ca-file", caFile], overTls)),
        request: await timed(() => gateway.catalog(AbortSignal.timeout(10_000))),
      };
      if (round < 0) continue;
      for (const key of KEYS) times[key].push(measured[key]);
    }
    yield* figures(times);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const KEYS = ["empty", "version", "catalog", "tlsCatalog", "request"] as const;
type Times = Record<typeof KEYS[number], number[]>;

function* figures(times: Times): Generator<Figure> {
  const [empty, request] = [median(times.empty), median(times.request)];
  const version = median(times.version) - empty;
  const catalog = median(times.catalog) - request;
  yield {
    name: "kubectl bind --version, over an empty script",
    measured: ms(version),
    comparedTo: `empty script ${ms(empty)}`,
    goal: `at most ${VERSION_GOAL_MS} ms`,
    met: version <= VERSION_GOAL_MS,
  };
  yield {
    name: `kubectl bind catalog, ${EXPORTS} Exports, without the request`,
    measured: ms(catalog),
    comparedTo: `request ${ms(request)}, empty script ${ms(empty)}`,
    goal: `at most ${CATALOG_GOAL_MS} ms`,
    met: catalog <= CATALOG_GOAL_MS,
  };
  yield {
    name: `kubectl bind catalog, ${EXPORTS} Exports, over TLS`,
    measured: ms(median(times.tlsCatalog)),
    comparedTo: `over HTTP ${ms(median(times.catalog))}`,
    goal: "(information)",
  };
}

async function run(args: string[], env: Record<string, string>): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-config", "--no-lock", ...CLI_RUN_FLAGS, ...args],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot run ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}
