import type {
  ClusterRole,
  ClusterRoleBinding,
  Grant,
  Namespace,
  PolicyRule,
  RbacSubject,
  RelatedResource,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import {
  boundaryName,
  clusterRoleName,
  identityHash,
  LABELS,
  parseApiName,
  tokenSecretName,
} from "../../common/api/names.ts";

/** Holds the objects of one Grant; all Grants of one identity share the boundary. */
export interface GrantObjects {
  readonly boundary: Namespace;
  readonly account: ServiceAccount;
  readonly tokenSecret: Secret;
  readonly role: Role;
  readonly roleBinding: RoleBinding;
  readonly clusterRole: ClusterRole;
  readonly clusterRoleBinding: ClusterRoleBinding;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_V1 = `${RBAC_GROUP}/v1`;
const READ = ["get", "list", "watch"];
const READ_WRITE = [...READ, "create", "update", "patch", "delete"];

/** Builds the objects of a Grant that may use `apis`. */
export function grantObjects(
  grant: Grant,
  apis: readonly string[],
  { issuerScope }: Pick<Config, "issuerScope">,
): GrantObjects {
  const { name } = grant.metadata;
  const { subject } = grant.spec.identity;
  const namespace = boundaryName(subject);
  const labels = { [LABELS.grant]: name };
  const inBoundary = { name, namespace, labels };
  const clusterWide = { name: clusterRoleName(name), labels };
  const subjects: RbacSubject[] = [{ kind: "ServiceAccount", name, namespace }];
  const granted = [...apiRules(apis), ...relatedRules(grant.spec.relatedResources ?? [])];
  const isClusterScope = issuerScope === "Cluster";
  return {
    boundary: {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name: namespace,
        labels: { [LABELS.managed]: "true", [LABELS.identity]: identityHash(subject) },
      },
    },
    account: {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: inBoundary,
      automountServiceAccountToken: false,
    },
    tokenSecret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        ...inBoundary,
        name: tokenSecretName(name),
        annotations: { [ACCOUNT_NAME_ANNOTATION]: name },
      },
      type: TOKEN_SECRET_TYPE,
    },
    role: {
      apiVersion: RBAC_V1,
      kind: "Role",
      metadata: inBoundary,
      rules: [LEASE_RULE, ...(isClusterScope ? [] : granted)],
    },
    roleBinding: {
      apiVersion: RBAC_V1,
      kind: "RoleBinding",
      metadata: inBoundary,
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
      subjects,
    },
    clusterRole: {
      apiVersion: RBAC_V1,
      kind: "ClusterRole",
      metadata: clusterWide,
      rules: [...IDENTITY_RULES, ...(isClusterScope ? [NAMESPACE_RULE, ...granted] : [])],
    },
    clusterRoleBinding: {
      apiVersion: RBAC_V1,
      kind: "ClusterRoleBinding",
      metadata: clusterWide,
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterWide.name },
      subjects,
    },
  };
}

/**
 * Takes all rights away but those of heartbeats and identification, so that the Grant can go on.
 * The roles still name the APIs, with a verb that means nothing: an API that lost its label
 * meanwhile returns with the permission, because it was granted before.
 */
export const withoutRights = (objects: GrantObjects): GrantObjects => ({
  ...objects,
  role: { ...objects.role, rules: [LEASE_RULE, ...withheld(objects.role.rules)] },
  clusterRole: {
    ...objects.clusterRole,
    rules: [...IDENTITY_RULES, ...withheld(objects.clusterRole.rules)],
  },
});

const withheld = (rules: readonly PolicyRule[] = []): PolicyRule[] =>
  apiRules(apisOf(rules), [WITHHELD]);

/** No request has this verb. */
const WITHHELD = "withheld-by-xbind";

/** Marks Secrets that Kubernetes fills with a token. */
export const TOKEN_SECRET_TYPE = "kubernetes.io/service-account-token";
/** Names the ServiceAccount of a token Secret. */
const ACCOUNT_NAME_ANNOTATION = "kubernetes.io/service-account.name";
/** Appears on a Secret once Kubernetes has filled in the token. */
export const ACCOUNT_UID_ANNOTATION = "kubernetes.io/service-account.uid";

/** For heartbeats; a konnector deletes its own when it unbinds. */
const LEASE_RULE: PolicyRule = {
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  verbs: READ_WRITE,
};

const IDENTITY_RULES: readonly PolicyRule[] = [
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: READ },
  { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
];

const NAMESPACE_RULE: PolicyRule = {
  apiGroups: [""],
  resources: ["namespaces"],
  verbs: [...READ, "create"],
};

function apiRules(apis: readonly string[], verbs = READ_WRITE): PolicyRule[] {
  return apis.flatMap((api) => {
    const parsed = parseApiName(api);
    if (!parsed) return [];
    const { plural, group } = parsed;
    return [{ apiGroups: [group], resources: [plural, `${plural}/status`], verbs }];
  });
}

/** Lists the only related resources that a role may name, even if the stored Grant has others. */
const RELATED_RESOURCES: readonly string[] = ["secrets", "configmaps"];

/** Builds one rule per resource; the right to write includes the right to read. */
function relatedRules(related: readonly RelatedResource[]): PolicyRule[] {
  const verbs = new Map<string, string[]>();
  for (const { resource, direction } of related) {
    if (!RELATED_RESOURCES.includes(resource)) continue;
    if (direction === "FromConsumer") verbs.set(resource, READ_WRITE);
    else if (!verbs.has(resource)) verbs.set(resource, READ);
  }
  return [...verbs].map(([resource, allowed]) => ({
    apiGroups: [""],
    resources: [resource],
    verbs: allowed,
  }));
}

/** Returns the APIs in rules that `grantObjects` built, which name a resource and its status. */
export function apisOf(rules: readonly PolicyRule[]): string[] {
  return rules.flatMap(({ apiGroups = [], resources = [] }) => {
    const [group = ""] = apiGroups;
    const [plural = "", status] = resources;
    return group !== "" && status === `${plural}/status` ? [`${plural}.${group}`] : [];
  });
}
