import { coreCrds } from "../api/crd_manifests.ts";
import { CORE_GROUP } from "../api/groups.ts";
import type {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  KubeObject,
  Namespace,
  PodSpec,
  PolicyRule,
  RelatedResource,
  Role,
  RoleBinding,
  ServiceAccount,
} from "../api/resources.ts";
import { CONSUMER_NAMESPACE } from "../api/names.ts";

const NAME = "konnector";
const ELECTION_NAME = "konnector-leaderelection";
const LABELS = { "app.kubernetes.io/name": NAME };
const RBAC = "rbac.authorization.k8s.io";
const METRICS_PORT = 8085;
const PROBE_PORT = 8081;
/** The usual number of the user without rights in images that hold nothing but a program. */
const NON_ROOT_USER = 65532;

const READ = ["get", "list", "watch"];
const ALL = [...READ, "create", "update", "patch", "delete"];
const CORE_KINDS = ["connections", "clusterbindings", "bindings"];

/** The APIs that a konnector limited to bound APIs may use. */
export interface BoundRights {
  /** The groups of bound APIs. */
  readonly groups: readonly string[];
  /** The resources of related-resource rules. */
  readonly related: readonly RelatedResource["resource"][];
}

/**
 * Everything a consumer cluster needs to run the konnector, in the order to apply it. With `bound`,
 * its rights end at the bound APIs; without, it may use every API that is bound later.
 */
export const konnectorManifest = (image: string, bound?: BoundRights): KubeObject[] => [
  ...coreCrds(),
  namespace(),
  serviceAccount(),
  clusterRole(bound),
  clusterRoleBinding(),
  electionRole(bound),
  electionRoleBinding(),
  deployment(image),
];

/** Replaces the rules in a konnector's manifest by those for the bound APIs only. */
export const withBoundRights = (
  manifest: readonly KubeObject[],
  bound: BoundRights,
): KubeObject[] => {
  const rules = new Map([clusterRole(bound), electionRole(bound)].map((role) => [
    role.kind,
    role.rules,
  ]));
  return manifest.map((object) =>
    rules.has(object.kind) ? { ...object, rules: rules.get(object.kind) } as KubeObject : object
  );
};

/** Returns whether a konnector's ClusterRole ends at the bound APIs. */
export const isBoundOnly = ({ rules = [] }: ClusterRole): boolean =>
  !rules.some(({ apiGroups = [] }) => apiGroups.includes("*"));

const clusterWide = (name: string) => ({ name, labels: LABELS });
const inNamespace = (name: string) => ({ name, namespace: CONSUMER_NAMESPACE, labels: LABELS });

const namespace = (): Namespace => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: clusterWide(CONSUMER_NAMESPACE),
});

const serviceAccount = (): ServiceAccount => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: inNamespace(NAME),
});

const rule = (apiGroups: string[], resources: string[], verbs: string[]): PolicyRule => ({
  apiGroups,
  resources,
  verbs,
});

const sub = (subresource: string) => CORE_KINDS.map((kind) => `${kind}/${subresource}`);

/** The verbs on Secrets that hold kubeconfigs. */
const kubeconfigSecrets = (): PolicyRule => rule([""], ["secrets"], [...READ, "update", "patch"]);

const clusterRole = (bound?: BoundRights): ClusterRole => ({
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRole",
  metadata: clusterWide(NAME),
  rules: [
    rule([CORE_GROUP], CORE_KINDS, ALL),
    rule([CORE_GROUP], sub("status"), ["get", "update", "patch"]),
    rule([CORE_GROUP], sub("finalizers"), ["update"]),
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], ALL),
    ...(bound ? [] : [kubeconfigSecrets()]),
    rule([""], ["namespaces"], [...READ, "create"]),
    rule(["core.kcp.io"], ["logicalclusters"], READ),
    rule(["", "events.k8s.io"], ["events"], ["create", "patch"]),
    ...(bound
      ? boundRules(bound)
      // Which APIs will be bound is not known when the konnector is installed.
      : [rule(["*"], ["*"], ALL)]),
  ],
});

/** The konnector neither creates nor deletes objects of bound APIs on the consumer. */
const boundRules = ({ groups, related }: BoundRights): PolicyRule[] => [
  ...(groups.length > 0 ? [rule([...groups], ["*"], [...READ, "patch"])] : []),
  ...(related.length > 0 ? [rule([""], [...related], ALL)] : []),
];

const account = () => ({
  kind: "ServiceAccount" as const,
  name: NAME,
  namespace: CONSUMER_NAMESPACE,
});

const clusterRoleBinding = (): ClusterRoleBinding => ({
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: clusterWide(NAME),
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: NAME },
  subjects: [account()],
});

const electionRole = (bound?: BoundRights): Role => ({
  apiVersion: `${RBAC}/v1`,
  kind: "Role",
  metadata: inNamespace(ELECTION_NAME),
  rules: [
    ...(bound ? [kubeconfigSecrets()] : []),
    rule(["coordination.k8s.io"], ["leases"], ALL),
    rule(["", "events.k8s.io"], ["events"], ["create", "patch"]),
  ],
});

const electionRoleBinding = (): RoleBinding => ({
  apiVersion: `${RBAC}/v1`,
  kind: "RoleBinding",
  metadata: inNamespace(ELECTION_NAME),
  roleRef: { apiGroup: RBAC, kind: "Role", name: ELECTION_NAME },
  subjects: [account()],
});

/** Replicas and environment are left out, so that the next apply keeps those that people set. */
const deployment = (image: string): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: inNamespace(NAME),
  spec: {
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: podSpec(image) },
  },
});

const podSpec = (image: string): PodSpec => ({
  serviceAccountName: NAME,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: NON_ROOT_USER,
    seccompProfile: { type: "RuntimeDefault" },
  },
  containers: [{
    name: NAME,
    image,
    args: [
      `--metrics-bind-address=:${METRICS_PORT}`,
      `--health-probe-bind-address=:${PROBE_PORT}`,
    ],
    ports: [
      { name: "metrics", containerPort: METRICS_PORT, protocol: "TCP" },
      { name: "probes", containerPort: PROBE_PORT, protocol: "TCP" },
    ],
    livenessProbe: {
      httpGet: { path: "/healthz", port: PROBE_PORT },
      initialDelaySeconds: 15,
      periodSeconds: 20,
    },
    readinessProbe: {
      httpGet: { path: "/readyz", port: PROBE_PORT },
      initialDelaySeconds: 5,
      periodSeconds: 10,
    },
    resources: {
      requests: { cpu: "10m", memory: "64Mi" },
      limits: { memory: "512Mi" },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  }],
});
