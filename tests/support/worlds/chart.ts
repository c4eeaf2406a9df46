import assert from "node:assert/strict";
import { parseAllDocuments, stringify } from "yaml";
import { type ChartValue, chartValues } from "../../../scripts/docs/chart_values.ts";
import { helmBinary } from "../../../scripts/tools/helm.ts";
import type { KubeObject, PolicyRule } from "../../../common/api/resources.ts";

/** The chart under test. */
export const CHART = new URL("../../../deploy/chart/", import.meta.url).pathname;

const readChart = (file: string): Promise<string> => Deno.readTextFile(`${CHART}${file}`);

/** The values of the chart, with their defaults. */
export const VALUES: readonly ChartValue[] = chartValues(await readChart("values.yaml"));

/** Values for a render, by group or by dotted path. */
export type Values = Readonly<Record<string, unknown>>;

/** The name and namespace of a release. */
export interface Release {
  readonly name?: string;
  readonly namespace?: string;
}

/** The result of a Helm command. */
export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let binary: Promise<string> | undefined;

/** Runs Helm with these values. Without a kubeconfig it has no cluster. */
export async function helm(
  args: readonly string[],
  values?: Values,
  kubeconfig = "/dev/null",
): Promise<HelmResult> {
  binary ??= helmBinary();
  const child = new Deno.Command(await binary, {
    args: [...args, ...(values ? ["--values=-"] : [])],
    env: { KUBECONFIG: kubeconfig },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([stringify(nested(values ?? {}))]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const text = (octets: Uint8Array) => new TextDecoder().decode(octets);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Turns `{"a.b": 1}` into `{a: {b: 1}}`. Later paths win. */
function nested(values: Values): Record<string, unknown> {
  const whole: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    let place = whole;
    for (const key of keys) place = (place[key] ??= {}) as Record<string, unknown>;
    place[last] = structuredClone(value); // later paths may change it
  }
  return whole;
}

const template = ({ name = "xbind", namespace = "xbind-system" }: Release, values: Values) =>
  helm(["template", name, CHART, `--namespace=${namespace}`], values);

/** Renders the objects of a release with these values. */
export async function render(values: Values, release: Release = {}): Promise<KubeObject[]> {
  const { code, stdout, stderr } = await template(release, values);
  assert.equal(code, 0, stderr);
  const documents = parseAllDocuments(stdout);
  for (const { errors: [error] } of documents) assert.equal(error, undefined);
  return documents.map((document) => document.toJS()).filter((object) => object !== null);
}

/** Returns the error of a render that must fail. */
export async function refusal(values: Values): Promise<string> {
  const { code, stderr } = await template({}, values);
  assert.notEqual(code, 0, `rendered with ${JSON.stringify(values)}`);
  return stderr;
}

/** Renders the NOTES of a release. */
export async function notes(values: Values): Promise<string> {
  const install = ["install", "xbind", CHART, "--namespace=xbind-system", "--dry-run=client"];
  const { code, stdout, stderr } = await helm([...install, "--output=json"], values);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).info.notes;
}

/** An environment variable of a container. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
  };
}

/** An HTTP probe. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
  readonly [field: string]: unknown;
}

/** The fields of the backend's container that tests read. */
export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

/** The fields of the Deployment that tests read. */
export interface RenderedDeployment extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: KubeObject["metadata"];
      readonly spec: Readonly<Record<string, unknown>> & {
        readonly serviceAccountName: string;
        readonly containers: readonly [Container];
      };
    };
  };
}

/** Returns the objects of one kind. */
export const ofKind = <T extends KubeObject>(objects: readonly KubeObject[], kind: string): T[] =>
  objects.filter((object): object is T => object.kind === kind);

/** Returns the only Deployment of a release. */
export function deploymentOf(objects: readonly KubeObject[]): RenderedDeployment {
  const [deployment, ...others] = ofKind<RenderedDeployment>(objects, "Deployment");
  assert.deepEqual(others, []);
  return deployment ?? assert.fail("no Deployment");
}

/** Returns the only container of a release. */
export const containerOf = (objects: readonly KubeObject[]): Container =>
  deploymentOf(objects).spec.template.spec.containers[0];

/** For users of the provider and callers of the gateway, not for the backend. */
const OTHERS = /^xbind-(?:catalog-viewer|binder|inventory-viewer)$|-callers$/;

/** Returns the rules of a release by the suffix of the role: a module, `crds` or `leader`. */
export function rulesOf(objects: readonly KubeObject[]): Map<string, readonly PolicyRule[]> {
  const roles = objects.filter(({ kind, metadata: { name } }) =>
    (kind === "ClusterRole" || kind === "Role") && !OTHERS.test(name)
  ) as (KubeObject & { rules: PolicyRule[] })[];
  return new Map(roles.map(({ metadata: { name }, rules }) => [name.replace(/.*-/, ""), rules]));
}
