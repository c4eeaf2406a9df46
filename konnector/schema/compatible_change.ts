import type {
  CustomResourceDefinition,
  CustomResourceVersion,
} from "../../common/api/resources.ts";
import { newestServed } from "./consumer_crd.ts";
import { type Narrowing, narrowings } from "./narrower_schema.ts";
import type { Schema } from "./schema.ts";

/** What a CRD says about its objects. */
export type CrdSpec = Pick<CustomResourceDefinition["spec"], "scope" | "names" | "versions">;

/** Lists at most this many. */
const MOST_TOLD = 3;

/**
 * Lists why objects that are stored under a CRD may not fit a new one: it would make them invalid
 * or unreadable, or cut fields off. Empty if all of them fit. Ignores the status of objects, which
 * the provider writes.
 */
export function incompatibleChanges(before: CrdSpec, after: CrdSpec): string[] {
  const told: string[] = [];
  for (const change of changesOf(before, after)) {
    if (told.includes(change)) continue; // several versions may have the same change
    if (told.length === MOST_TOLD) return [...told, "and more"];
    told.push(change);
  }
  return told;
}

function* changesOf(before: CrdSpec, after: CrdSpec): Generator<string> {
  if (before.scope !== after.scope) yield `the scope is ${after.scope} instead of ${before.scope}`;
  const [kind, newKind] = [before.names.kind, after.names.kind];
  if (kind !== newKind) yield `the kind is ${newKind} instead of ${kind}`;
  for (const old of before.versions) {
    const same = after.versions.find(({ name }) => name === old.name);
    if (same) yield* narrowedVersion(old, same);
    else if (old.served || old.storage) yield `version ${old.name} is gone`;
  }
  // Without conversion, an object of one version is read as it is in another.
  const [from, to] = [newestServed(before.versions), newestServed(after.versions)];
  if (from && to && from.name !== to.name) yield* narrowedVersion(from, to);
}

function* narrowedVersion(
  before: CustomResourceVersion,
  after: CustomResourceVersion,
): Generator<string> {
  const hasStatus = after.subresources?.status !== undefined;
  const [from, to] = [rootOf(before), rootOf(after)];
  for (const narrowing of narrowings(from, to)) {
    if (hasStatus && /^\.status\b/.test(narrowing.path)) continue;
    yield sentenceOf(narrowing);
  }
}

const sentenceOf = ({ path, change }: Narrowing): string =>
  `${path === "" ? "the object" : path} ${change}`;

/** Every object has these fields, whatever its schema says, and only names can be restricted. */
function rootOf({ schema }: CustomResourceVersion): Schema {
  const root: Schema = schema?.openAPIV3Schema ?? {};
  const { apiVersion: _, kind: __, ...properties } = (root["properties"] ?? {}) as Record<
    string,
    Schema
  >;
  const names = (properties["metadata"]?.["properties"] ?? {}) as Record<string, Schema>;
  const { name = { type: "string" } } = names;
  const metadata = { type: "object", properties: { name } };
  return { ...root, properties: { ...properties, metadata } };
}
