import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  CRDS,
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
import { LABELS, tokenSecretName } from "../../common/api/names.ts";
import { ACCOUNT_UID_ANNOTATION, apisOf, TOKEN_SECRET_TYPE } from "./grant_objects.ts";
import type { exportCache, grantCache } from "../provider/caches.ts";
import type { ForeignSecrets } from "./foreign_secrets.ts";

/**
 * A role or binding as the issuer remembers it. Its content is one text to compare, and not a
 * digest of it: each hash leaves memory outside of V8's heap until garbage is collected, 10 MB of
 * holes for 10,000 Grants.
 */
export interface Remembered extends MetadataObject {
  readonly content: string;
  /** Roles only: the APIs they open. */
  readonly apis?: readonly string[];
}

/** Rules as a text, whatever order their fields come in. */
export const rulesContent = (rules: readonly PolicyRule[] = []): string =>
  JSON.stringify(rules.map((rule) => [
    rule.apiGroups ?? [],
    rule.resources ?? [],
    rule.resourceNames ?? [],
    rule.nonResourceURLs ?? [],
    rule.verbs,
  ]));

/** Who gets what, as a text. */
export const bindingContent = (
  { roleRef, subjects = [] }: Pick<RoleBinding | ClusterRoleBinding, "roleRef" | "subjects">,
): string =>
  JSON.stringify([
    [roleRef.kind, roleRef.name],
    subjects.map(({ kind, name, namespace = "" }) => [kind, name, namespace]),
  ]);

/** In place of rules: whatever the rules are, they are not ours to tell. */
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

/** Whether Kubernetes has put a token into the Secret. */
export const isFilled = ({ metadata }: MetadataObject): boolean =>
  metadata.annotations?.[ACCOUNT_UID_ANNOTATION] !== undefined;

/** The token Secrets, by name and type; a tenant may give our label to any other. */
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

/** What the issuer watches: its input, and everything it made. */
export function issuerCaches(
  { grants, exports, foreignSecrets }: {
    readonly grants: ReturnType<typeof grantCache>;
    readonly exports: ReturnType<typeof exportCache>;
    /** Told of Secrets that carry our label and were not made here. */
    readonly foreignSecrets?: Pick<ForeignSecrets, "see">;
  },
  reportsOf: (what: string) => CacheReports = () => ({}),
) {
  const metadata = (type: ResourceType, selection: Selection) =>
    new Cache(metadataObjects(type, selection), { reports: reportsOf(type.plural) });
  const contents = (source: FollowSource<Remembered>) =>
    new Cache(source, { reports: reportsOf(source.type.plural) });
  return {
    grants,
    exports,
    crds: metadata(CRDS, {}),
    boundaries: metadata(NAMESPACES, { labelSelector: LABELS.identity }),
    accounts: metadata(SERVICE_ACCOUNTS, ISSUED),
    secrets: new Cache(tokenSecrets(foreignSecrets), { reports: reportsOf(SECRETS.plural) }),
    roles: contents(roles(ROLES)),
    roleBindings: contents(bindings(ROLE_BINDINGS)),
    clusterRoles: contents(roles(CLUSTER_ROLES)),
    clusterRoleBindings: contents(bindings(CLUSTER_ROLE_BINDINGS)),
  };
}

/** See `issuerCaches`. */
export type IssuerCaches = ReturnType<typeof issuerCaches>;

/** Those of accounts and rights. Tenants may write Secrets, so a Secret says nothing of its Grant. */
export const cachesOfRights = (
  { accounts, roles, roleBindings, clusterRoles, clusterRoleBindings }: IssuerCaches,
) => [accounts, roles, roleBindings, clusterRoles, clusterRoleBindings];
