import type { ClusterRole, KubeObject, PolicyRule, Role } from "../../common/api/resources.ts";
import { parseUntrustedYaml } from "../../common/yaml.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { differences, isMapping, type MayDiffer, refused } from "./differences.ts";
import {
  isDescriptive,
  isOrdinaryResources,
  isOwnProbe,
  isPlainEnvironment,
  isStrategy,
} from "./harmless.ts";

const MAX_LENGTH = 1024 * 1024;

const VERSION = "spec.versions[0]";
const CONTAINER = "spec.template.spec.containers[0]";
const anything = () => true;

/**
 * Where a provider's manifest may differ from ours, and with which values: descriptions, schemas of
 * other versions, the image, and settings of the process. None of them reaches beyond the
 * konnector's own pod and permissions.
 */
const MAY_DIFFER: Record<string, Record<string, (given: unknown) => boolean>> = {
  CustomResourceDefinition: {
    [`${VERSION}.schema`]: anything,
    [`${VERSION}.additionalPrinterColumns`]: anything,
  },
  // `widerRule` compares these.
  ClusterRole: { rules: anything },
  Role: { rules: anything },
  Deployment: {
    "spec.replicas": anything,
    "spec.strategy": isStrategy,
    "spec.template.metadata.labels": isDescriptive,
    "spec.template.metadata.annotations": isDescriptive,
    [`${CONTAINER}.imagePullPolicy`]: anything,
    [`${CONTAINER}.args`]: anything,
    [`${CONTAINER}.env`]: isPlainEnvironment,
    [`${CONTAINER}.resources`]: isOrdinaryResources,
    [`${CONTAINER}.livenessProbe`]: isOwnProbe,
    [`${CONTAINER}.readinessProbe`]: isOwnProbe,
    [`${CONTAINER}.startupProbe`]: isOwnProbe,
  },
};

const mayDiffer = (kind: string): MayDiffer => {
  const places = new Map(Object.entries({
    "metadata.labels": isDescriptive,
    "metadata.annotations": isDescriptive,
    ...MAY_DIFFER[kind],
  }));
  return (path, given) => places.get(path)?.(given) ?? false;
};

/**
 * Accepts a manifest that holds exactly the objects of the konnector, with no more permissions than
 * ours. Returns them in our order.
 */
export function checkManifest(yaml: string): KubeObject[] {
  if (yaml.length > MAX_LENGTH) throw refusedManifest("it is too long");
  const given = yaml.split(/^---[ \t]*\r?$/m).filter((text) => text.trim() !== "").map(parsed);
  const image = given.map(imageOf).find((found) => found !== undefined);
  if (!image) throw refusedManifest("it names no image");
  const byName = new Map(given.map((object) => [identityOf(object), object]));
  if (byName.size < given.length) throw refusedManifest("it names an object twice");
  const ours = konnectorManifest(image);
  const checked = ours.map((model) => {
    const name = identityOf(model);
    const object = byName.get(name);
    if (!object) throw refusedManifest(`it has no ${name}`);
    byName.delete(name);
    return checkObject(object, model, ours);
  });
  const [foreign] = byName.keys();
  if (foreign !== undefined) throw refusedManifest(`${foreign} is not part of the konnector`);
  return checked;
}

function checkObject(
  object: unknown,
  model: KubeObject,
  ours: readonly KubeObject[],
): KubeObject {
  const [path] = differences(object, model, mayDiffer(model.kind));
  const name = identityOf(model);
  if (path !== undefined) throw refusedManifest(`${name} has an unexpected value at "${path}"`);
  const checked = object as KubeObject; // it has the same fields as the model
  if (model.kind === "ClusterRole" || model.kind === "Role") {
    // What our ClusterRole allows everywhere, a Role may allow in its namespace.
    const allowed = ours.filter(({ kind }) => kind === "ClusterRole" || kind === model.kind)
      .flatMap((role) => (role as ClusterRole).rules ?? []);
    const wider = widerRule((checked as Role).rules, allowed);
    if (wider) throw refusedManifest(`${name} asks for more than a konnector needs: ${wider}`);
  }
  return checked;
}

const RULE_FIELDS = ["apiGroups", "resources", "verbs", "resourceNames"] as const;
type RuleField = typeof RULE_FIELDS[number];

/**
 * Describes the first permission in `given` that `ours` do not include; undefined when there is
 * none. A rule of an unknown form counts as wider.
 */
export function widerRule(given: unknown, ours: readonly PolicyRule[]): string | undefined {
  if (!Array.isArray(given)) return "its rules are not a list";
  for (const rule of given) {
    const fields = readRule(rule);
    if (!fields) return "it has a rule of an unknown form";
    for (const group of fields.apiGroups) {
      for (const resource of fields.resources) {
        for (const verb of fields.verbs) {
          if (ours.some((own) => allows(own, group, resource, verb))) continue;
          const what = group === "" ? resource : `${resource}.${group}`;
          return `it may ${verb} ${what}`;
        }
      }
    }
  }
  return undefined;
}

/** Reads a rule. `resourceNames` only narrow it. Refuses `nonResourceURLs` and unknown fields. */
function readRule(rule: unknown): Record<RuleField, string[]> | undefined {
  if (!isMapping(rule)) return undefined;
  if (Object.keys(rule).some((key) => !RULE_FIELDS.includes(key as RuleField))) return undefined;
  const lists = RULE_FIELDS.map((field) => [field, rule[field] ?? []] as const);
  const isReadable = lists.every(([, list]) =>
    Array.isArray(list) && list.every((item) => typeof item === "string")
  );
  return isReadable ? Object.fromEntries(lists) as Record<RuleField, string[]> : undefined;
}

const allows = (own: PolicyRule, group: string, resource: string, verb: string): boolean =>
  covers(own.apiGroups, group) && covers(own.resources, resource) && covers(own.verbs, verb);

const covers = (held: readonly string[] = [], wanted: string): boolean =>
  held.includes("*") || held.includes(wanted);

function parsed(text: string): unknown {
  try {
    return parseUntrustedYaml(text);
  } catch {
    throw refusedManifest("it is not YAML that can be read safely");
  }
}

/** Names an object: `Kind/name`, or `Kind/namespace/name`. */
function identityOf(object: unknown): string {
  const { kind, metadata } = isMapping(object) ? object : {};
  const { name, namespace } = isMapping(metadata) ? metadata : {};
  const place = namespace === undefined ? "" : `${String(namespace)}/`;
  return `${String(kind)}/${place}${String(name)}`;
}

/** Finds the image of a Deployment's first container; undefined for other objects. */
export function imageOf(object: unknown): string | undefined {
  const template = at(at(at(object, "spec"), "template"), "spec");
  const containers = at(template, "containers");
  const image = Array.isArray(containers) ? at(containers[0], "image") : undefined;
  return typeof image === "string" && /^[\x21-\x7e]{1,1000}$/.test(image) ? image : undefined;
}

const at = (value: unknown, key: string): unknown => isMapping(value) ? value[key] : undefined;

const refusedManifest = (reason: string) =>
  refused(
    "the konnector manifest",
    reason,
    "Nothing was applied. Use --konnector-image to install the manifest of this program instead",
  );
