import assert from "node:assert/strict";
import { CATALOG_API_VERSION, IAM_API_VERSION } from "../../../common/api/groups.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type Condition,
  type CustomResourceDefinition,
  type Export,
  type ExportSpec,
  type Grant,
  type GrantSpec,
  type KubeObject,
  type Lease,
  NAMESPACES,
  type ObjectMeta,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import {
  ANNOTATIONS,
  boundaryName,
  clusterRoleName,
  grantName,
  heartbeatLeaseName,
  LABELS,
  parseApiName,
  tokenSecretName,
} from "../../../common/api/names.ts";

const RBAC = "rbac.authorization.k8s.io";
const SEVEN = ["get", "list", "watch", "create", "update", "patch", "delete"];

const rule = (group: string, resources: string[], verbs: string[]) => ({
  apiGroups: [group],
  resources,
  verbs,
});

/** The minimal rights of a backend that issues and installs the CRDs. */
export const BACKEND_RULES = [
  rule("catalog.xbind.io", ["exports", "collections"], ["get", "list", "watch"]),
  rule("catalog.xbind.io", ["exports/status"], ["update", "patch"]),
  rule("iam.xbind.io", ["grants"], ["get", "list", "watch", "patch"]),
  rule("iam.xbind.io", ["grants/status"], ["update", "patch"]),
  rule("iam.xbind.io", ["grants/finalizers"], ["update"]),
  rule(
    "apiextensions.k8s.io",
    ["customresourcedefinitions"],
    ["get", "list", "watch", "create", "patch", "update"],
  ),
  rule("", ["namespaces", "serviceaccounts", "secrets"], SEVEN),
  rule("coordination.k8s.io", ["leases"], SEVEN),
  rule(RBAC, ["roles", "clusterroles"], [...SEVEN, "escalate", "bind"]),
  rule(RBAC, ["rolebindings", "clusterrolebindings"], SEVEN),
  rule("events.k8s.io", ["events"], ["create", "patch"]),
];

/** The sample API. */
export const WIDGETS = "widgets.example.org";

/** The fields in which a Grant differs from the default one. */
export interface GrantSample extends Partial<Omit<GrantSpec, "identity" | "apis">> {
  /** The owner; the same word is the same identity. */
  readonly who?: string;
  /** Replaces the subject of `who`. */
  readonly subject?: string;
  readonly displayName?: string;
  readonly name?: string;
  readonly apis?: readonly string[];
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly finalizers?: string[];
}

/** The subject of the identity `who`. */
export const subjectOf = (who: string): string => `https://idp.example.org#${who}`;

/** The boundary namespace of a Grant. */
export const boundaryOf = ({ spec }: Grant): string => boundaryName(spec.identity.subject);

/** A Grant like that of a bind. */
export function grantFor(sample: GrantSample): Grant {
  const { who = "ada", exportName = "widgets", apis = [WIDGETS], ...others } = sample;
  const { subject = subjectOf(who), displayName, labels, annotations, finalizers, ...rest } =
    others;
  const { name = grantName(exportName, subject), ...spec } = rest;
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: {
      name,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
    },
    spec: {
      identity: { subject, ...(displayName && { displayName }) },
      exportName,
      apis: apis.map((api) => ({ name: api })),
      ...spec,
    },
  };
}

/** An Export of APIs. */
export const exportFor = (
  name: string,
  apis: readonly string[],
  spec: Partial<ExportSpec> = {},
  labels: Record<string, string> = {},
): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name, labels },
  spec: { title: name, apis: apis.map((api) => ({ name: api })), ...spec },
});

/** RFC 3339 in whole seconds. */
export const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** The Ready condition of an object, at its generation, with these fields replaced. */
export const readyCondition = (
  { metadata }: Pick<KubeObject, "metadata">,
  edit: Partial<Condition> = {},
): Condition => ({
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "",
  lastTransitionTime: seconds(Date.now()),
  observedGeneration: metadata.generation ?? 0,
  ...edit,
});

/** A heartbeat like that of a konnector. */
export function leaseFor(
  { connection, namespace, consumerUid, renewTimeMs = Date.now() }: {
    connection: string;
    namespace: string;
    consumerUid: string;
    renewTimeMs?: number | undefined;
  },
  spec: Lease["spec"] = {},
): Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name: heartbeatLeaseName(connection, consumerUid),
      namespace,
      labels: { [LABELS.managed]: "true" },
      annotations: {
        [ANNOTATIONS.connection]: connection,
        [ANNOTATIONS.consumerClusterUid]: consumerUid,
      },
    },
    spec: {
      holderIdentity: consumerUid,
      leaseDurationSeconds: 60,
      renewTime: new Date(renewTimeMs).toISOString().replace("Z", "000Z"),
      ...spec,
    },
  };
}

/** The resource type of an API's objects. */
export function customType(api: string): ResourceType<KubeObject & { status?: object }> {
  const { plural, group } = parseApiName(api) ?? assert.fail(`bad API name ${api}`);
  return { group, version: "v1", plural, kind: kindOf(plural), namespaced: true };
}

/** The CRD of a namespaced API with a status, without a schema. */
export function crdFor(api: string, labels: Record<string, string>): CustomResourceDefinition {
  const { plural, group, kind, version } = customType(api);
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const subresources = { status: {} };
  const served = { name: version, served: true, storage: true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: api, labels },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ ...served, schema: { openAPIV3Schema }, subresources }],
    },
  };
}

/** The label that makes a CRD exportable. */
export const EXPORTED = { [LABELS.exported]: "true" };

const kindOf = (plural: string): string =>
  `${plural.charAt(0).toUpperCase()}${plural.slice(1).replace(/s$/, "")}`;

/** The keys of the seven objects of a Grant, in the order of their creation. */
export const issuedKeys = (grant: Grant): [ResourceType, ObjectMeta][] => {
  const { name } = grant.metadata;
  const namespace = boundaryOf(grant);
  return [
    [NAMESPACES, { name: namespace }],
    [SERVICE_ACCOUNTS, { name, namespace }],
    [SECRETS, { name: tokenSecretName(name), namespace }],
    [ROLES, { name, namespace }],
    [ROLE_BINDINGS, { name, namespace }],
    [CLUSTER_ROLES, { name: clusterRoleName(name) }],
    [CLUSTER_ROLE_BINDINGS, { name: clusterRoleName(name) }],
  ];
};
