import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  CRDS,
  isDeleting,
  type KubeObject,
  NAMESPACES,
  type PolicyRule,
  type ResourceType,
  ROLE_BINDINGS,
  type RoleBinding,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { Selection } from "../../common/kube/client.ts";
import { type FollowSource, metadataObjects } from "../../common/kube/follow.ts";
import { type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { isReservedGroup, LABELS, parseApiName, tokenSecretName } from "../../common/api/names.ts";
import { ACCOUNT_UID_ANNOTATION, apisOf, TOKEN_SECRET_TYPE } from "./grant_objects.ts";
import type { exportCache, grantCache } from "../provider/caches.ts";
import type { ForeignSecrets } from "./foreign_secrets.ts";

/**
 * A role or binding as the issuer remembers it. Its content is one text to compare. It is not a
 * digest, because each hash takes memory outside of V8's heap until garbage is collected.
 */
export interface Remembered extends MetadataObject {
  readonly content: string;
  /** Roles only: the APIs they open. */
  readonly apis?: readonly string[];
}

/** Writes rules as a text that does not depend on the order of their fields. */
export const rulesContent = (rules: readonly PolicyRule[] = []): string =>
  JSON.stringify(rules.map((rule) => [
    rule.apiGroups ?? [],
    rule.resources ?? [],
    rule.resourceNames ?? [],
    rule.nonResourceURLs ?? [],
    rule.verbs,
  ]));

/** Writes the role and the subjects of a binding as a text. */
export const bindingContent = (
  { roleRef, subjects = [] }: Pick<RoleBinding | ClusterRoleBinding, "roleRef" | "subjects">,
): string =>
  JSON.stringify([
    [roleRef.kind, roleRef.name],
    subjects.map(({ kind, name, namespace = "" }) => [kind, name, namespace]),
  ]);

/** Stands for rules that Kubernetes collects from other roles, so that they never equal ours. */
const AGGREGATED = "aggregated";

const ISSUED = { labelSelector: LABELS.grant };

const remembered = (
  type: ResourceType,
  reduce: (object: KubeObject) => Omit<Remembered, "metadata">,
): FollowSource<Remembered> => ({
  type,
  selection: ISSUED,
  metadataOnly: false,
  decode: (item) => ({ ...reduceMetadata(item), ...reduce(item as KubeObject) }),
});

const roles = (type: ResourceType): FollowSource<Remembered> =>
  remembered(type, (object) => {
    const { rules: given, aggregationRule } = object as ClusterRole;
    const rules = given ?? []; // the API server writes null for a role without any
    return { content: aggregationRule ? AGGREGATED : rulesContent(rules), apis: apisOf(rules) };
  });

const bindings = (type: ResourceType): FollowSource<Remembered> =>
  remembered(type, (object) => ({ content: bindingContent(object as RoleBinding) }));

/** Returns whether Kubernetes has put a token into the Secret. */
export const isFilled = ({ metadata }: MetadataObject): boolean =>
  metadata.annotations?.[ACCOUNT_UID_ANNOTATION] !== undefined;

/** Selects token Secrets by name and type, because a tenant may give our label to any Secret. */
const tokenSecrets = (foreign?: Pick<ForeignSecrets, "see">): FollowSource<MetadataObject> => ({
  type: SECRETS,
  selection: { ...ISSUED, fieldSelector: `type=${TOKEN_SECRET_TYPE}` },
  metadataOnly: true,
  decode: (item) => {
    const secret = reduceMetadata(item, { annotations: [ACCOUNT_UID_ANNOTATION] });
    const { name, labels } = secret.metadata;
    if (name === tokenSecretName(labels?.[LABELS.grant] ?? "")) return secret;
    foreign?.see(secret);
    return undefined;
  },
});

/** Makes the caches of the issuer's input and of everything that it made. */
export function issuerCaches(
  { grants, exports, foreignSecrets }: {
    readonly grants: ReturnType<typeof grantCache>;
    readonly exports: ReturnType<typeof exportCache>;
    /** Hears of Secrets that carry our label and were not made by the issuer. */
    readonly foreignSecrets?: Pick<ForeignSecrets, "see">;
  },
  reportsOf: (what: string) => CacheReports = () => ({}),
) {
  const reports = ({ plural }: ResourceType) => ({ reports: reportsOf(plural) });
  const metadata = (type: ResourceType, selection: Selection) =>
    new Cache(metadataObjects(type, selection), reports(type));
  const byGrant = <T extends MetadataObject>(source: FollowSource<T>) =>
    new Cache(source, { ...reports(source.type), indexes: { grant: grantOf } });
  return {
    grants,
    exports,
    crds: metadata(CRDS, {}),
    boundaries: metadata(NAMESPACES, { labelSelector: LABELS.identity }),
    secrets: new Cache(tokenSecrets(foreignSecrets), reports(SECRETS)),
    accounts: byGrant(metadataObjects(SERVICE_ACCOUNTS, ISSUED)),
    roles: byGrant(roles(ROLES)),
    roleBindings: byGrant(bindings(ROLE_BINDINGS)),
    clusterRoles: byGrant(roles(CLUSTER_ROLES)),
    clusterRoleBindings: byGrant(bindings(CLUSTER_ROLE_BINDINGS)),
  };
}

function grantOf({ metadata }: MetadataObject): string[] {
  const grant = metadata.labels?.[LABELS.grant];
  return grant === undefined ? [] : [grant];
}

/** The caches that `issuerCaches` makes. */
export type IssuerCaches = ReturnType<typeof issuerCaches>;

/**
 * Lists the caches of accounts and rights. Secrets are not among them: tenants may write Secrets,
 * so a Secret does not prove that its Grant ever existed.
 */
export const cachesOfRights = (
  { accounts, roles, roleBindings, clusterRoles, clusterRoleBindings }: IssuerCaches,
) => [accounts, roles, roleBindings, clusterRoles, clusterRoleBindings];

/** Returns whether an API may be exported now: its CRD exists, is labelled, and is not ours. */
export function isExported({ crds }: Pick<IssuerCaches, "crds">, api: string): boolean {
  const parsed = parseApiName(api);
  if (!parsed || isReservedGroup(parsed.group)) return false;
  const crd = crds.get({ name: api });
  return crd !== undefined && !isDeleting(crd) && crd.metadata.labels?.[LABELS.exported] === "true";
}
