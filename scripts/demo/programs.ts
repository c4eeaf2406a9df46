import { join } from "node:path";
import type { ControlPlane } from "../controlplane/control_plane.ts";
import { eventually } from "../controlplane/eventually.ts";
import { freePort } from "../controlplane/free_port.ts";
import type { Guard } from "../controlplane/guard.ts";
import { DAEMON_ENV, DAEMON_RUN_FLAGS } from "../run_flags.ts";
import { buildUi } from "../build_ui.ts";
import { ROOT } from "./install.ts";

/** The addresses and log of a program. */
export interface Daemon {
  readonly metrics: string;
  readonly probes: string;
  readonly log: string;
}

/** The backend, with the address of its gateway. */
export interface Backend extends Daemon {
  readonly url: string;
}

/** Runs the backend from source on the provider. It installs its CRDs there. */
export async function startBackend(provider: ControlPlane, guard: Guard): Promise<Backend> {
  await buildUi();
  const port = freePort();
  const url = `http://localhost:${port}`;
  const daemon = await startDaemon(guard, "backend", "server/main.ts", provider.adminKubeconfig, [
    "--enable-reaper",
    "--enable-apply",
    "--oidc-mock",
    `--oidc-mock-listen=127.0.0.1:${freePort()}`,
    `--listen-address=127.0.0.1:${port}`,
    `--external-url=${url}`,
    "--provider-name=The xbind demo",
  ]);
  return { ...daemon, url };
}

/** Runs the konnector from source, with the rights of this kubeconfig on the consumer. */
export const startKonnector = (guard: Guard, kubeconfig: string): Promise<Daemon> =>
  startDaemon(guard, "konnector", "konnector/main.ts", kubeconfig, ["--cluster-name=consumer"]);

/** Runs the sample controller, with the rights of this kubeconfig on the provider. */
export function startController(guard: Guard, kubeconfig: string): Pick<Daemon, "log"> {
  guard.spawn({
    name: "controller",
    command: Deno.execPath(),
    args: ["run", ...DAEMON_RUN_FLAGS, join(ROOT, "examples/widgets/controller.ts")],
    env: { KUBECONFIG: kubeconfig, NO_COLOR: "1" },
  });
  return { log: guard.logFile("controller") };
}

/** Runs a program from source until it is ready. */
async function startDaemon(
  guard: Guard,
  name: string,
  source: string,
  kubeconfig: string,
  flags: string[],
): Promise<Daemon> {
  const metricsAddress = `127.0.0.1:${freePort()}`;
  const probeAddress = `127.0.0.1:${freePort()}`;
  const process = guard.spawn({
    name,
    command: Deno.execPath(),
    args: [
      "run",
      ...DAEMON_RUN_FLAGS,
      join(ROOT, source),
      ...flags,
      `--metrics-bind-address=${metricsAddress}`,
      `--health-probe-bind-address=${probeAddress}`,
      "--zap-encoder=console",
    ],
    env: { ...DAEMON_ENV, KUBECONFIG: kubeconfig, NO_COLOR: "1" },
  });
  const log = guard.logFile(name);
  const probes = `http://${probeAddress}/readyz`;
  const isUp = await eventually(`the ${name} is ready`, async () => {
    if (process.status) return "ended";
    const { ok, body } = await fetch(probes);
    await body?.cancel();
    return ok && "ready";
  });
  if (isUp === "ready") return { metrics: `http://${metricsAddress}/metrics`, probes, log };
  throw new Error(`Cannot start the ${name}:\n${(await Deno.readTextFile(log)).trim()}`);
}
