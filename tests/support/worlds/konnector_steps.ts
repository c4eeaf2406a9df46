import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { FieldManager } from "../../../common/api/names.ts";
import { EVENTS, type ResourceType } from "../../../common/api/resources.ts";
import type { PatchStep } from "../../../common/kube/client.ts";
import { collectionPath, type ObjectKey, objectPath } from "../../../common/kube/paths.ts";
import { type Connected, uniqueName } from "../planes/kube.ts";
import type { Bound, KonnectorWorld } from "./konnector_world.ts";
import type { Instance, Place } from "./two_sides.ts";

/** An Event as tests read it. */
interface Told {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string; readonly uid: string };
}

/** The key of an object of a bound API. */
export const keyIn = ({ type, namespace }: Place, name: string): ObjectKey => ({
  name,
  ...(type.namespaced ? { namespace } : {}),
});

/** Waits until an Event with this reason tells about an object on the consumer. */
export async function told(
  { consumer }: Pick<KonnectorWorld, "consumer">,
  { namespace, type }: { readonly type: ResourceType; readonly namespace: string },
  name: string,
  reason: string,
  uid?: string,
): Promise<Told> {
  const where = type.namespaced ? namespace : "default";
  return await eventually(`an Event ${reason} about ${name}`, async () => {
    const events = await consumer.kube.list(EVENTS, { namespace: where }) as unknown as Told[];
    return events.find(({ regarding, ...event }) =>
      regarding.name === name && event.reason === reason && (!uid || regarding.uid === uid)
    );
  });
}

/** Changes a copy on the provider as another field manager. */
export async function meddle(
  { provider }: Pick<KonnectorWorld, "provider">,
  bound: Place,
  name: string,
  steps: readonly PatchStep[],
  manager = "meddler",
): Promise<Instance> {
  const options = { manager: manager as FieldManager };
  return await provider.kube.jsonPatch(bound.type, keyIn(bound, name), steps, options);
}

/** Replaces one field of a copy as another field manager. */
export const meddleWith = (
  world: Pick<KonnectorWorld, "provider">,
  bound: Place,
  name: string,
  path: string,
  value: unknown,
): Promise<Instance> => meddle(world, bound, name, [{ op: "add", path, value }]);

/** Reads an object as JSON text, so that numbers stay as they are. */
export async function textOf(
  { transport }: Pick<Connected, "transport">,
  bound: Place,
  name: string,
  accept = "application/json",
): Promise<string> {
  const { text } = await transport.send({
    method: "GET",
    headers: { Accept: accept },
    path: objectPath(bound.type, keyIn(bound, name)),
    attempt: `Cannot read ${name}`,
    timeoutMs: 10_000,
  });
  return text;
}

/** Time in which a konnector that has more to write would write it. */
export const aWhile = (ms = 1_500): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Repeats a write on one side, and returns which of the konnector's writes it caused. */
export async function writesAfter(
  world: KonnectorWorld,
  act: () => Promise<unknown>,
): Promise<Record<"consumer" | "provider", string[]>> {
  return await world.writesDuring(async () => {
    await act();
    await aWhile();
  });
}

/** Leaves the writes on Connections and bindings out. */
export const ofObjects = ({ consumer, provider }: Record<"consumer" | "provider", string[]>) =>
  [...consumer, ...provider].filter((write) => !/ (connections|clusterbindings)\//.test(write));

/** Selects the writes of a bound API's objects, for an admission policy. */
export const writesOf = ({ type }: Pick<Bound, "type">) => ({
  resourceRules: [{
    apiGroups: [type.group],
    apiVersions: ["*"],
    operations: ["CREATE", "UPDATE"],
    resources: [type.plural],
  }],
});

/** Returns the name of a kind of admission policies in paths. */
const policyPlural = (kind: string): string =>
  kind.toLowerCase().replace(/y$/, "ies").replace(/binding$/, "bindings");

const ADMISSION = "admissionregistration.k8s.io/v1";

/** Sets up an admission policy on the provider with its binding. Returns their name. */
export async function admissionPolicy(
  { provider }: Pick<KonnectorWorld, "provider">,
  kind: "Validating" | "Mutating",
  spec: object,
  binding: object,
): Promise<string> {
  const name = uniqueName("policy");
  const parts: [string, object][] = [
    [`${kind}AdmissionPolicy`, spec],
    [`${kind}AdmissionPolicyBinding`, { policyName: name, ...binding }],
  ];
  for (const [kind, spec] of parts) {
    const object = { apiVersion: ADMISSION, kind, metadata: { name }, spec };
    await provider.kube.request("POST", `/apis/${ADMISSION}/${policyPlural(kind)}`, object);
  }
  return name;
}

/**
 * Waits for this verdict of the provider's admission on a new object: the admitted object as JSON,
 * or the refusal. A policy takes effect, and ends, a moment after its write.
 */
export async function judged(
  { provider }: Pick<KonnectorWorld, "provider">,
  { type, namespace }: Place,
  content: object,
  verdict: RegExp,
): Promise<void> {
  const { group, version, kind } = type;
  const path = `${collectionPath(type, type.namespaced ? namespace : undefined)}?dryRun=All`;
  const metadata = { name: uniqueName("judged") };
  const apiVersion = group ? `${group}/${version}` : version;
  const object = { apiVersion, kind, metadata, ...content };
  await eventually(`admission says ${verdict}`, async () => {
    const said = await provider.kube.request("POST", path, object).then(JSON.stringify, String);
    return verdict.test(said);
  });
}

/** Ends an admission policy on the provider. */
export async function liftPolicy(
  { provider }: Pick<KonnectorWorld, "provider">,
  kind: "Validating" | "Mutating",
  name: string,
): Promise<void> {
  const [group = "", version = ""] = ADMISSION.split("/");
  const bindingKind = `${kind}AdmissionPolicyBinding`;
  const type = { group, version, plural: policyPlural(bindingKind), kind: bindingKind };
  await provider.kube.delete({ ...type, namespaced: false }, { name });
}
