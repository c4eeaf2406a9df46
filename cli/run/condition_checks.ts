import {
  BINDINGS,
  CLUSTER_BINDINGS,
  type Condition,
  condition,
  type Conditioned,
  CONNECTIONS,
  isReady,
  type KubeObject,
  type ResourceType,
} from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { objectText } from "../../common/consumer/apply_objects.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import type { ObjectMeta } from "../../common/api/resources.ts";
import type { Io } from "../terminal/io.ts";
import { boundObjects } from "../consumer/bound_objects.ts";
import type { Consumer } from "../consumer/connect_consumer.ts";
import { conditionText } from "../consumer/until_ready.ts";
import { type Check, failed, ok, warning } from "./checks.ts";
import { conditionRemedy, objectRemedy, SEE_KONNECTOR } from "./remedies.ts";

type Judged = KubeObject & Conditioned;
type AnyBound = { readonly spec: { readonly apis: readonly { readonly name: string }[] } };

/** Conditions that need attention besides Ready, by status, or by reason too. */
const ATTENTION: readonly [type: string, status: Condition["status"], reason?: string][] = [
  ["SecretValid", "False"],
  ["SecretValid", "True", "ExpiresSoon"],
  ["Connected", "False"],
  ["SchemaInSync", "False"],
  ["AutoBound", "False"],
  ["Synced", "False"],
  ["Synced", "True"], // it counts leftovers in its message
  ["PermissionDenied", "True"],
  ["Conflicts", "True"],
];

/** Checks the conditions of all objects of a kind: one line for each that shows a problem. */
export async function conditionChecks(
  { signal }: Pick<Io, "signal">,
  { kube }: Consumer,
  type: ResourceType,
): Promise<Check[]> {
  const objects = await listed(kube.list(type, {}, signal)) as Judged[];
  if (objects.length === 0) {
    return type.plural === BINDINGS.plural ? [] : [ok(type.plural, "there are none yet")];
  }
  const bad = objects.flatMap((object) => checksOf(type.plural, object));
  return bad.length > 0 ? bad : [ok(type.plural, `all ${objects.length} are Ready`)];
}

/** The kinds with conditions, in the order of the checks. */
export const CONDITIONED = [CONNECTIONS, CLUSTER_BINDINGS, BINDINGS] as readonly ResourceType[];

function checksOf(check: string, object: Judged): Check[] {
  const name = objectText(object);
  const ready = condition(object, "Ready");
  if (!ready) return [failed(check, `${name} has no status yet`, SEE_KONNECTOR)];
  const line = (found: Condition) => `${name} ${conditionText(found)}`;
  const told = new Set([ready.message]);
  const first = isReady(object) ? [] : [failed(check, line(ready), conditionRemedy(ready))];
  const others = ATTENTION.flatMap(([type, status, reason]) => {
    const found = condition(object, type);
    if (found?.status !== status || found.reason !== (reason ?? found.reason)) return [];
    const isLeftovers = type === "Synced" && status === "True";
    // The same cause need not be told twice.
    if (told.has(found.message) || isLeftovers && found.message === "") return [];
    told.add(found.message);
    return [warning(check, line(found), conditionRemedy(found))];
  });
  return [...first, ...others];
}

/** More objects than this are counted only. */
const MOST_OBJECTS = 20;

/** Lists the objects of bound APIs that are in conflict or rejected, and why. */
export async function objectChecks(
  { signal }: Pick<Io, "signal">,
  { kube }: Consumer,
): Promise<Check[]> {
  const bindings = [
    ...await listed(kube.list(CLUSTER_BINDINGS, {}, signal)),
    ...await listed(kube.list(BINDINGS, {}, signal)),
  ] as AnyBound[];
  const apis = bindings.flatMap(({ spec }) => spec.apis.map(({ name }) => name));
  const bad = (await boundObjects(kube, apis, signal)).flatMap(({ api, objects = [] }) =>
    objects.flatMap(({ metadata }) => objectCheck(api, metadata))
  );
  const left = bad.length - MOST_OBJECTS;
  const more = warning("objects", `${left} more are not synced`, objectRemedy(""));
  return left > 0 ? [...bad.slice(0, MOST_OBJECTS), more] : bad;
}

function objectCheck(api: string, { namespace, name, annotations = {} }: ObjectMeta): Check[] {
  const { [ANNOTATIONS.conflict]: conflict, [ANNOTATIONS.syncError]: refusal } = annotations;
  const what = `${api} ${namespace ? `${namespace}/` : ""}${name}`;
  return [
    ...(conflict ? [warning("objects", `${what}: ${conflict}`, objectRemedy(conflict))] : []),
    ...(refusal
      ? [warning("objects", `${what}: Rejected: ${refusal}`, objectRemedy("Rejected"))]
      : []),
  ];
}

async function listed<T>(list: Promise<T[]>): Promise<T[]> {
  try {
    return await list;
  } catch (error) {
    if (isNotFound(error)) return []; // the CRD is not installed
    throw error;
  }
}
