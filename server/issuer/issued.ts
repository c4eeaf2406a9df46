import { createHash } from "node:crypto";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  CRDS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  NAMESPACES,
  type PolicyRule,
  type ResourceType,
  ROLE_BINDINGS,
  type RoleBinding,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../api/resources.ts";
import { Cache, type CacheReports } from "../kube/cache.ts";
import type { Selection } from "../kube/client.ts";
import { type FollowSource, metadataObjects, wholeObjects } from "../kube/follow.ts";
import { type MetadataObject, reduceMetadata } from "../kube/metadata.ts";
import { boundaryName, LABELS } from "../names.ts";
import { ACCOUNT_UID_ANNOTATION, apisOf } from "./desired.ts";

/** A role or binding as the issuer remembers it: a digest instead of the content. */
export interface Digested extends MetadataObject {
  readonly digest: string;
  /** Roles only: the APIs they open. */
  readonly apis?: readonly string[];
}

const digestOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);

/** The digest of rules, whatever order their fields come in. */
export const rulesDigest = (rules: readonly PolicyRule[] = []): string =>
  digestOf(rules.map((rule) => [
    rule.apiGroups ?? [],
    rule.resources ?? [],
    rule.resourceNames ?? [],
    rule.nonResourceURLs ?? [],
    rule.verbs,
  ]));

/** The digest of who gets what. */
export const bindingDigest = (
  { roleRef, subjects = [] }: Pick<RoleBinding | ClusterRoleBinding, "roleRef" | "subjects">,
): string =>
  digestOf([
    roleDigest(roleRef),
    subjects.map(({ kind, name, namespace = "" }) => [kind, name, namespace]),
  ]);

const roleDigest = ({ kind, name }: RoleBinding["roleRef"]): string => `${kind}/${name}`;

/** In place of a digest: whatever the rules are, they are not ours to tell. */
const AGGREGATED = "aggregated";

const ISSUED = { labelSelector: LABELS.grant };

const digested = (
  type: ResourceType,
  digest: (object: KubeObject) => Omit<Digested, "metadata">,
): FollowSource<Digested> => ({
  type,
  selection: ISSUED,
  metadataOnly: false,
  decode: (item) => ({ ...reduceMetadata(item), ...digest(item as KubeObject) }),
});

const roles = (type: ResourceType): FollowSource<Digested> =>
  digested(type, (object) => {
    const { rules: given, aggregationRule } = object as ClusterRole;
    const rules = given ?? []; // the API server writes null for a role without any
    return { digest: aggregationRule ? AGGREGATED : rulesDigest(rules), apis: apisOf(rules) };
  });

const bindings = (type: ResourceType): FollowSource<Digested> =>
  digested(type, (object) => ({ digest: bindingDigest(object as RoleBinding) }));

/** Whether Kubernetes has put a token into the Secret. */
export const isFilled = ({ metadata }: MetadataObject): boolean =>
  metadata.annotations?.[ACCOUNT_UID_ANNOTATION] !== undefined;

/** The Grants, with the indexes that the issuer uses. */
export const grantCache = (reports: CacheReports = {}) =>
  new Cache(wholeObjects(GRANTS), {
    reports,
    indexes: {
      api: ({ spec }) => spec.apis.map(({ name }) => name),
      boundary: ({ spec }) => [boundaryName(spec.identity.subject)],
    },
  });

/** The Exports, by the APIs they offer. */
export const exportCache = (reports: CacheReports = {}) =>
  new Cache(wholeObjects(EXPORTS), {
    reports,
    indexes: { api: ({ spec }) => spec.apis.map(({ name }) => name) },
  });

/** What the issuer watches: its input, and everything it made. */
export function issuerCaches(
  { grants, exports }: {
    readonly grants: ReturnType<typeof grantCache>;
    readonly exports: ReturnType<typeof exportCache>;
  },
  reportsOf: (what: string) => CacheReports = () => ({}),
) {
  const metadata = (type: ResourceType, selection: Selection) =>
    new Cache(metadataObjects(type, selection), { reports: reportsOf(type.plural) });
  const digests = (source: FollowSource<Digested>) =>
    new Cache(source, { reports: reportsOf(source.type.plural) });
  return {
    grants,
    exports,
    crds: metadata(CRDS, {}),
    boundaries: metadata(NAMESPACES, { labelSelector: LABELS.identity }),
    accounts: metadata(SERVICE_ACCOUNTS, ISSUED),
    secrets: new Cache(
      metadataObjects(SECRETS, ISSUED, { annotations: [ACCOUNT_UID_ANNOTATION] }),
      {
        reports: reportsOf(SECRETS.plural),
        indexes: { state: (secret) => [isFilled(secret) ? "filled" : "unfilled"] },
      },
    ),
    roles: digests(roles(ROLES)),
    roleBindings: digests(bindings(ROLE_BINDINGS)),
    clusterRoles: digests(roles(CLUSTER_ROLES)),
    clusterRoleBindings: digests(bindings(CLUSTER_ROLE_BINDINGS)),
  };
}

/** See `issuerCaches`. */
export type IssuerCaches = ReturnType<typeof issuerCaches>;
