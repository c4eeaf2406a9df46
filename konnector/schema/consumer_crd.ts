import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import type {
  CustomResourceDefinition,
  CustomResourceVersion,
} from "../../common/api/resources.ts";
import { hashOf } from "../sync/records.ts";
import type { BoundType } from "../sync/sync_context.ts";
import { groupFault } from "./group_fault.ts";

/** What is installed of a provider's CRD. */
export interface PulledCrd {
  readonly crd: CustomResourceDefinition;
  readonly type: BoundType;
  /** `sha256:` and 16 digits, as bindings show it. */
  readonly hash: string;
}

/** Kubernetes lets only its own groups through with this annotation. */
const API_APPROVED = "api-approved.kubernetes.io";
const LARGEST_CRD = 1024 * 1024;
const DEEPEST = 200;

/** Says why a CRD is not pulled. */
export class CrdRefusedError extends Error {
  override readonly name = "CrdRefusedError";
}

/** Returns a provider's answer if it is the CRD of this name. Throws a `CrdRefusedError` if not. */
export function checkedCrd(name: string, answer: unknown): CustomResourceDefinition {
  const crd = (answer ?? {}) as CustomResourceDefinition;
  const { group, scope, names, versions } = crd.spec ?? {};
  const isNamed = crd.metadata?.name === name && `${names?.plural}.${group}` === name;
  const isWhole = typeof names?.kind === "string" &&
    (scope === "Cluster" || scope === "Namespaced") && Array.isArray(versions) &&
    versions.every((each) => typeof each?.name === "string");
  // With another name it could replace the CRD of another provider.
  if (!isNamed || !isWhole) throw new CrdRefusedError(`the answer is not the CRD ${name}`);
  return crd;
}

/**
 * Builds the CRD that is installed on the consumer, without conversion and with our marks. It has
 * all versions if the provider converts nothing between them, else the stored one if it is served,
 * else the newest served one. Labels, annotations and finalizers of the provider stay there.
 */
export function pulledCrd(provider: CustomResourceDefinition, connection: string): PulledCrd {
  const { name, annotations } = provider.metadata;
  const { group, names, scope, versions, conversion } = provider.spec;
  const fault = groupFault(group);
  if (fault) throw new CrdRefusedError(`${name} ${fault}`);
  const version = newestServed(versions);
  if (!version) throw new CrdRefusedError("it has no served version");
  const { acceptedNames: _, ...wantedNames } = names as typeof names & { acceptedNames?: unknown };
  const spec = {
    group,
    names: wantedNames,
    scope,
    versions: versions.filter((each) => each === version || !isConverting(conversion))
      .map((each) => ({ ...each, storage: each === version })),
    conversion: { strategy: "None" },
  };
  if (isTooDeep(spec)) throw new CrdRefusedError("it is nested too deeply");
  const text = JSON.stringify(spec);
  if (text.length > LARGEST_CRD) throw new CrdRefusedError("it is larger than 1 MiB");
  const hash = `sha256:${hashOf(text)}`;
  const approved = annotations?.[API_APPROVED];
  return {
    crd: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: {
        name,
        labels: { [LABELS.managed]: "true" },
        annotations: {
          [ANNOTATIONS.connection]: connection,
          [ANNOTATIONS.schemaHash]: hash,
          ...(approved === undefined ? {} : { [API_APPROVED]: approved }),
        },
      },
      spec,
    },
    hash,
    type: typeOf(provider, version),
  };
}

/** Returns whether a value is nested so deeply that comparing it could overflow the stack. */
const isTooDeep = (value: unknown, depth = 0): boolean =>
  typeof value === "object" && value !== null &&
  (depth > DEEPEST || Object.values(value).some((each) => isTooDeep(each, depth + 1)));

/** Returns the newest version of an installed CRD that the provider serves as well. */
export function commonType(
  installed: CustomResourceDefinition,
  provider: CustomResourceDefinition,
): BoundType | undefined {
  const isProvided = ({ name }: CustomResourceVersion) =>
    provider.spec.versions.some((each) => each.name === name && each.served);
  const version = newestServed(installed.spec.versions.filter(isProvided));
  return version && typeOf(installed, version);
}

const typeOf = (
  { spec: { group, names, scope } }: CustomResourceDefinition,
  { name, subresources }: CustomResourceVersion,
): BoundType => ({
  group,
  version: name,
  plural: names.plural,
  kind: names.kind,
  namespaced: scope === "Namespaced",
  hasStatusSubresource: subresources?.status !== undefined,
});

/** Without conversion, an object is the same in every version. */
const isConverting = (conversion: { readonly strategy?: string } | undefined): boolean =>
  conversion?.strategy !== undefined && conversion.strategy !== "None";

/** Returns the stored version if it is served, else the newest served one by Kubernetes' order. */
export function newestServed(
  versions: readonly CustomResourceVersion[],
): CustomResourceVersion | undefined {
  const served = versions.filter((version) => version.served);
  return served.find(({ storage }) => storage) ??
    served.toSorted((a, b) => compareVersions(b.name, a.name))[0];
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = ["alpha", "beta", undefined];

/** Orders versions as Kubernetes does: v2 after v1, v1 after v1beta2, other names first. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [VERSION.exec(a), VERSION.exec(b)];
  if (!x || !y) return x ? 1 : y ? -1 : a < b ? 1 : a > b ? -1 : 0;
  return STAGES.indexOf(x[2]) - STAGES.indexOf(y[2]) || Number(x[1]) - Number(y[1]) ||
    Number(x[3] ?? 0) - Number(y[3] ?? 0);
}
