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

/** Commands to try on the demo, and what they show. */
export interface DemoStep {
  readonly says: readonly string[];
  readonly commands: readonly string[];
}

/** The commands of the quick start for any folder. The variables come from `environment`. */
export const demoSteps = (environment: string): DemoStep[] => [
  {
    says: [
      "Paste this into another terminal: it sets GATEWAY, PROVIDER and CONSUMER, and puts the",
      "kubectl bind plugin on the PATH:",
    ],
    commands: [`. ${shellWord(environment)}`],
  },
  {
    says: [
      "Sign in, look at the catalog and bind, as a consumer would (or open the gateway in a browser):",
    ],
    commands: [
      'kubectl bind login "$GATEWAY"',
      "kubectl bind catalog",
      'kubectl bind export widgets --kubeconfig "$CONSUMER" --wait',
    ],
  },
  {
    says: ["Make a Widget on the consumer. The provider runs it, and its status comes back:"],
    commands: [
      `kubectl --kubeconfig "$CONSUMER" apply -f ${
        shellWord(join(ROOT, "examples/widgets/widget.yaml"))
      }`,
      'kubectl --kubeconfig "$CONSUMER" wait --for=condition=Ready widget/first',
      'kubectl --kubeconfig "$CONSUMER" get widgets',
      'kubectl --kubeconfig "$PROVIDER" get widgets --all-namespaces',
    ],
  },
  {
    says: ["See who is connected and what is synced:"],
    commands: ["kubectl bind clusters", "kubectl bind instances widgets"],
  },
  {
    says: ["See what the issuer made of the bind on the provider, and that all is well:"],
    commands: [
      'kubectl --kubeconfig "$PROVIDER" get grants',
      'kubectl --kubeconfig "$PROVIDER" get serviceaccounts,roles,rolebindings -A -l iam.xbind.io/grant',
      'kubectl bind doctor --kubeconfig "$CONSUMER"',
    ],
  },
  {
    says: ["Unbind: Widgets go on both sides, and the API goes from the consumer:"],
    commands: [
      'kubectl bind unbind widgets --yes --kubeconfig "$CONSUMER"',
      'kubectl --kubeconfig "$PROVIDER" get widgets --all-namespaces',
    ],
  },
];

const stepText = ({ says, commands }: DemoStep): string[] => [
  ...says,
  ...commands.map((command) => `  ${command}`),
  "",
];

/** Describes what runs, and the commands to try on it. */
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
    ...demoSteps(environment).flatMap(stepText),
  ].join("\n");
