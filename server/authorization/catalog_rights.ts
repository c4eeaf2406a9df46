import { createHash } from "node:crypto";
import { fieldsOf, textsIn } from "../../common/shape.ts";
import { EXPORT_ACCESS } from "./access_reviews.ts";

/** Names of Exports; `all` includes Exports created later. */
export type Names = "all" | ReadonlySet<string>;

/** What a user may do with the Exports of the catalog. */
export interface CatalogRights {
  readonly see: Names;
  /** Unknown if that would take too many reviews. */
  readonly bind: Names | "unknown";
  /** Equal rights have equal keys. */
  readonly key: string;
}

/** Makes rights, with their key. */
export const catalogRights = (see: Names, bind: CatalogRights["bind"]): CatalogRights => ({
  see,
  bind,
  key: `${keyOf(see)} ${keyOf(bind)}`,
});

/** Returns whether the name is among them. */
export const includes = (names: Names, name: string): boolean => names === "all" || names.has(name);

/** RBAC lists the roles that it does not find as errors, though nothing is missing in the rules. */
const MISSING_ROLES =
  /^\[?(?:(?:cluster)?role\.rbac\.authorization\.k8s\.io "[^"]*" not found(?:, |\]?$))+$/;

/** Reads the rights from a SelfSubjectRulesReview; undefined if the list is incomplete. */
export function rightsIn(answer: unknown): CatalogRights | undefined {
  const { resourceRules, incomplete, evaluationError } = fieldsOf(fieldsOf(answer).status);
  if (incomplete !== false || !Array.isArray(resourceRules)) return undefined;
  if (evaluationError && !MISSING_ROLES.test(String(evaluationError))) return undefined;
  const rules = resourceRules.map(fieldsOf).filter((rule) =>
    has(rule.apiGroups, EXPORT_ACCESS.group) && has(rule.resources, EXPORT_ACCESS.resource)
  );
  return catalogRights(namesFor("get", rules), namesFor("bind", rules));
}

function namesFor(verb: string, rules: readonly Readonly<Record<string, unknown>>[]): Names {
  const names = new Set<string>();
  for (const { verbs, resourceNames } of rules) {
    if (!has(verbs, verb)) continue;
    const listed = textsIn(resourceNames);
    if (listed.length === 0) return "all";
    for (const name of listed) names.add(name);
  }
  return names;
}

const has = (list: unknown, word: string): boolean =>
  textsIn(list).some((each) => each === word || each === "*");

const keyOf = (names: CatalogRights["bind"]): string =>
  typeof names === "string"
    ? names
    : createHash("sha256").update(JSON.stringify([...names].sort())).digest("base64url");
