/**
 * The demo: a provider and a consumer control plane, the backend, and a sample service, until
 * Ctrl-C. With `--check` it checks that everything is there and ends.
 */
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { packCli } from "./build/pack.ts";
import { buildUi } from "./build_ui.ts";
import { controlPlaneBinaries } from "./controlplane/binaries.ts";
import type { ControlPlane } from "./controlplane/control_plane.ts";
import { eventually } from "./controlplane/eventually.ts";
import { freePort } from "./controlplane/free_port.ts";
import { Guard } from "./controlplane/guard.ts";
import { type Progress, progressTo } from "./tools/progress.ts";
import { startControlPlanes } from "./controlplane/start_control_planes.ts";
import { DAEMON_ENV, DAEMON_RUN_FLAGS } from "./run_flags.ts";
import { say } from "./say.ts";

const ROOT = join(import.meta.dirname ?? "", "..");
const PROVIDER_CRDS = [
  "exports.catalog.xbind.io",
  "collections.catalog.xbind.io",
  "grants.iam.xbind.io",
];
const CONSUMER_CRDS = [
  "connections.core.xbind.io",
  "clusterbindings.core.xbind.io",
  "bindings.core.xbind.io",
];
const SAMPLE_CRD = "widgets.example.org";

/** The objects that the demo installs, as arguments of kubectl. */
const PROVIDER_OBJECTS = [
  ...[...PROVIDER_CRDS, SAMPLE_CRD].map((name) => `crd/${name}`),
  "exports.catalog.xbind.io/widgets",
  "collections.catalog.xbind.io/getting-started",
];
const CONSUMER_OBJECTS = CONSUMER_CRDS.map((name) => `crd/${name}`);

const crdFile = (name: string) => `crds/${name}.yaml`;

const kubectl = async (plane: ControlPlane, args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await plane.kubectl(args);
  if (code === 0) return stdout;
  throw new Error(`Cannot run kubectl ${args.join(" ")} on ${plane.name}: ${stderr.trim()}`);
};

const apply = (plane: ControlPlane, files: string[]) =>
  kubectl(plane, ["apply", "--server-side", ...files.flatMap((file) => ["-f", join(ROOT, file)])]);

const applyCrds = async (plane: ControlPlane, names: string[], files: string[]): Promise<void> => {
  await apply(plane, files);
  const crds = names.map((name) => `crd/${name}`);
  await kubectl(plane, ["wait", "--for=condition=Established", "--timeout=30s", ...crds]);
};

/** The addresses and log of the backend. */
interface Backend {
  url: string;
  metrics: string;
  probes: string;
  log: string;
}

/** Runs the backend from source on the provider; it installs its CRDs there. */
const startBackend = async (provider: ControlPlane, guard: Guard): Promise<Backend> => {
  await buildUi();
  const port = freePort();
  const url = `http://localhost:${port}`;
  const metricsAddress = `127.0.0.1:${freePort()}`;
  const probeAddress = `127.0.0.1:${freePort()}`;
  const backend = guard.spawn({
    name: "backend",
    command: Deno.execPath(),
    args: [
      "run",
      ...DAEMON_RUN_FLAGS,
      join(ROOT, "server/main.ts"),
      "--enable-reaper",
      "--enable-apply",
      "--oidc-mock",
      `--oidc-mock-listen=127.0.0.1:${freePort()}`,
      `--listen-address=127.0.0.1:${port}`,
      `--external-url=${url}`,
      "--provider-name=The xbind demo",
      `--metrics-bind-address=${metricsAddress}`,
      `--health-probe-bind-address=${probeAddress}`,
      "--zap-encoder=console",
    ],
    env: { ...DAEMON_ENV, KUBECONFIG: provider.adminKubeconfig, NO_COLOR: "1" },
  });
  const log = guard.logFile("backend");
  const probes = `http://${probeAddress}/readyz`;
  const isUp = await eventually("the backend is ready", async () => {
    if (backend.status) return "ended";
    const { ok, body } = await fetch(probes);
    await body?.cancel();
    return ok && "ready";
  });
  if (isUp === "ready") return { url, metrics: `http://${metricsAddress}/metrics`, probes, log };
  throw new Error(`Cannot start the backend:\n${(await Deno.readTextFile(log)).trim()}`);
};

const installSample = async (provider: ControlPlane): Promise<void> => {
  await applyCrds(provider, [SAMPLE_CRD], ["examples/widgets/crd.yaml"]);
  await apply(provider, ["examples/widgets/export.yaml", "examples/widgets/collection.yaml"]);
  await kubectl(provider, ["wait", "--for=condition=Ready", "--timeout=30s", "export/widgets"]);
};

const install = async (
  provider: ControlPlane,
  consumer: ControlPlane,
  guard: Guard,
  progress: Progress,
) => {
  await progress.run(
    "[2/4] the consumer's resource definitions",
    () => applyCrds(consumer, CONSUMER_CRDS, CONSUMER_CRDS.map(crdFile)),
  );
  const backend = await progress.run(
    "[3/4] the backend on the provider",
    () => startBackend(provider, guard),
  );
  await progress.run("[4/4] sample service", () => installSample(provider));
  return backend;
};

const isOnPath = async (program: string): Promise<boolean> => {
  for (const dir of (Deno.env.get("PATH") ?? "").split(delimiter)) {
    if (await Deno.stat(join(dir, program)).then((info) => info.isFile, () => false)) return true;
  }
  return false;
};

const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes the variables and the `PATH` for the user's shell. */
const writeEnvironment = async (
  provider: ControlPlane,
  consumer: ControlPlane,
  { dir }: Guard,
  url: string,
): Promise<string> => {
  const plugin = join(dir, "kubectl-bind");
  await packCli(plugin, Deno.execPath());
  const programs = await isOnPath("kubectl") ? [] : [dirname(provider.kubectlPath)];
  const file = join(dir, "env");
  const lines = [
    `export GATEWAY=${shellWord(url)}`,
    `export PROVIDER=${shellWord(provider.adminKubeconfig)}`,
    `export CONSUMER=${shellWord(consumer.adminKubeconfig)}`,
    `export PATH=${[plugin, ...programs].map(shellWord).join(delimiter)}${delimiter}"$PATH"`,
  ];
  await Deno.writeTextFile(file, `${lines.join("\n")}\n`);
  return file;
};

const planeText = (plane: ControlPlane, role: string, installed: string[]): string[] => [
  `${plane.name[0]?.toUpperCase()}${plane.name.slice(1)}: ${role}`,
  `  API server  ${plane.server}`,
  `  kubeconfig  ${plane.adminKubeconfig}`,
  `  data        ${plane.dir}`,
  `  installed   ${installed.join("\n              ")}`,
  "",
];

const demoText = (
  provider: ControlPlane,
  consumer: ControlPlane,
  backend: Backend,
  environment: string,
): string =>
  [
    "",
    ...planeText(provider, "the cluster that offers APIs", PROVIDER_OBJECTS),
    ...planeText(consumer, "the cluster that will use them", CONSUMER_OBJECTS),
    "Backend: gateway, issuer and reaper on the provider; everybody is signed in as Jane Doe",
    `  gateway     ${backend.url}`,
    `  metrics     ${backend.metrics}`,
    `  probes      ${backend.probes}`,
    `  log         ${backend.log}`,
    "",
    "Paste this into another terminal: it sets GATEWAY, PROVIDER and CONSUMER, and puts the",
    "kubectl bind plugin on the PATH:",
    `  . ${shellWord(environment)}`,
    "",
    "Sign in, look at the catalog and bind, as a consumer would (or open the gateway in a browser):",
    "  kubectl bind login $GATEWAY",
    "  kubectl bind catalog",
    "  kubectl bind export widgets --kubeconfig $CONSUMER",
    "  kubectl bind clusters",
    "",
    "See what the issuer made of that, on the provider:",
    "  kubectl --kubeconfig $PROVIDER get exports,collections,grants",
    "  kubectl --kubeconfig $PROVIDER get sa,secret,role,rolebinding,clusterrole -A " +
    "-l iam.xbind.io/grant",
    "",
    "A Widget, as the provider's own user would make it:",
    `  kubectl --kubeconfig $PROVIDER apply -f ${
      shellWord(join(ROOT, "examples/widgets/widget.yaml"))
    }`,
    "  kubectl --kubeconfig $PROVIDER get widgets -A",
    "",
    "What a consumer can hold, explained field by field:",
    "  kubectl --kubeconfig $CONSUMER api-resources --categories=xbind",
    "  kubectl --kubeconfig $CONSUMER explain clusterbinding.spec",
    "",
  ].join("\n");

const check = async (
  provider: ControlPlane,
  consumer: ControlPlane,
  backend: Backend,
): Promise<void> => {
  for (
    const [plane, objects] of [[provider, PROVIDER_OBJECTS], [consumer, CONSUMER_OBJECTS]] as const
  ) {
    const found = await kubectl(plane, ["get", "-o", "name", ...objects]);
    say(`Found on the ${plane.name}:\n${found.trim().replaceAll(/^/gm, "  ")}`);
  }
  const cookie = await signIn(backend.url);
  const bound = await fetch(`${backend.url}/api/bind`, {
    method: "POST",
    headers: { Cookie: cookie },
    body: JSON.stringify({ export: "widgets" }),
  });
  const result: { grant?: string; error?: string } = await bound.json();
  if (!result.grant) throw new Error(`Cannot bind in the demo: ${result.error}`);
  say(`Bound: ${result.grant}`);
};

/** Follows the redirects of a login with the cookies it gets, and returns the session's. */
const signIn = async (url: string): Promise<string> => {
  const jar = new Map<string, string>();
  let next = `${url}/api/auth/oidc/login`;
  for (let hops = 0; hops < 5 && !jar.has("xbind_session"); hops++) {
    const cookies = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(next, { redirect: "manual", headers: { Cookie: cookies } });
    await answer.body?.cancel();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    next = new URL(answer.headers.get("Location") ?? "/", next).href;
  }
  return `xbind_session=${jar.get("xbind_session") ?? ""}`;
};

/** Waits for Ctrl-C or another signal to end. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      Deno.addSignalListener(signal, () => resolve());
    }
  });

const demo = async (checkOnly: boolean): Promise<void> => {
  const progress = progressTo();
  await controlPlaneBinaries(progress);
  await using planes = new AsyncDisposableStack();
  const [provider, consumer] = await progress.run(
    "[1/4] provider and consumer control planes",
    () => startControlPlanes([{ name: "provider" }, { name: "consumer" }]),
  );
  planes.use(provider);
  planes.use(consumer);
  const guard = planes.use(
    await Guard.start(join(tmpdir(), `xbind-demo-${crypto.randomUUID().slice(0, 8)}`)),
  );
  const backend = await install(provider, consumer, guard, progress);
  const environment = await writeEnvironment(provider, consumer, guard, backend.url);
  say(demoText(provider, consumer, backend, environment));
  if (checkOnly) return await check(provider, consumer, backend);
  say("Press Ctrl-C to stop; then all of this is removed.");
  await untilStopped();
  say("\nStopping");
};

if (import.meta.main) {
  const unknown = Deno.args.filter((arg) => arg !== "--check");
  if (unknown.length > 0) {
    progressTo().note(`Cannot run the demo with ${unknown.join(" ")}: the only flag is --check`);
    Deno.exit(2);
  }
  try {
    await demo(Deno.args.includes("--check"));
    Deno.exit(0);
  } catch (error) {
    progressTo().note(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  }
}
