import { join } from "node:path";
import type { ControlPlane } from "../controlplane/control_plane.ts";
import { CONSUMER_OBJECTS, PROVIDER_OBJECTS, ROOT } from "./install.ts";
import type { Backend, Daemon } from "./programs.ts";

/** All that the demo runs. */
export interface Running {
  readonly provider: ControlPlane;
  readonly consumer: ControlPlane;
  readonly backend: Backend;
  readonly controller: Pick<Daemon, "log">;
  readonly konnector: Daemon;
}

/** Quotes a word for a shell if it needs quotes. */
export const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const planeText = (plane: ControlPlane, role: string, installed: string[]): string[] => [
  `${plane.name[0]?.toUpperCase()}${plane.name.slice(1)}: ${role}`,
  `  API server  ${plane.server}`,
  `  kubeconfig  ${plane.adminKubeconfig}`,
  `  data        ${plane.dir}`,
  `  installed   ${installed.join("\n              ")}`,
  "",
];

const daemonText = ({ metrics, probes, log }: Daemon): string[] => [
  `  metrics     ${metrics}`,
  `  probes      ${probes}`,
  `  log         ${log}`,
  "",
];

/** Describes what runs, and the commands to try on it. The variables come from `environment`. */
export const demoText = (running: Running, environment: string): string =>
  [
    "",
    ...planeText(running.provider, "the cluster that offers APIs", PROVIDER_OBJECTS),
    ...planeText(running.consumer, "the cluster that will use them", CONSUMER_OBJECTS),
    "Backend: gateway, issuer and reaper on the provider; everybody is signed in as Jane Doe",
    `  gateway     ${running.backend.url}`,
    ...daemonText(running.backend),
    "Controller: runs the Widgets on the provider (examples/widgets/controller.ts)",
    `  log         ${running.controller.log}`,
    "",
    "Konnector: syncs the consumer; a process, because these clusters have no nodes for its pod",
    ...daemonText(running.konnector),
    "Paste this into another terminal: it sets GATEWAY, PROVIDER and CONSUMER, and puts the",
    "kubectl bind plugin on the PATH:",
    `  . ${shellWord(environment)}`,
    "",
    "Sign in, look at the catalog and bind, as a consumer would (or open the gateway in a browser):",
    "  kubectl bind login $GATEWAY",
    "  kubectl bind catalog",
    "  kubectl bind export widgets --kubeconfig $CONSUMER --wait",
    "",
    "Make a Widget on the consumer. The provider runs it, and its status comes back:",
    `  kubectl --kubeconfig $CONSUMER apply -f ${
      shellWord(join(ROOT, "examples/widgets/widget.yaml"))
    }`,
    "  kubectl --kubeconfig $CONSUMER wait --for=condition=Ready widget/first",
    "  kubectl --kubeconfig $PROVIDER get widgets --all-namespaces",
    "  kubectl --kubeconfig $CONSUMER get widgets",
    "",
    "See who is connected and what is synced, and that all is well:",
    "  kubectl bind clusters",
    "  kubectl bind instances widgets",
    "  kubectl bind doctor --kubeconfig $CONSUMER",
    "",
    "See what the issuer made of the bind, on the provider:",
    "  kubectl --kubeconfig $PROVIDER get exports,collections,grants",
    "  kubectl --kubeconfig $PROVIDER get sa,secret,role,rolebinding,clusterrole -A " +
    "-l iam.xbind.io/grant",
    "",
    "Unbind: Widgets go on both sides, and the API goes from the consumer:",
    "  kubectl bind unbind widgets --yes --kubeconfig $CONSUMER",
    "  kubectl --kubeconfig $PROVIDER get widgets --all-namespaces",
    "",
  ].join("\n");
