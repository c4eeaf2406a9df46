import type {
  Binding,
  BindingStatus,
  BoundApi,
  ClusterBinding,
  Collection,
  Condition,
  ConflictPolicy,
  Connection,
  ConnectionSchema,
  ConnectionStatus,
  Export,
  ExportDefaults,
  ExportedApi,
  ExportSpec,
  Grant,
  GrantStatus,
  KubeObject,
  LabelSelector,
  LabelSelectorRequirement,
  RelatedResource,
  RelatedResourceSelector,
} from "../../../common/api/resources.ts";

/** T with every optional field required, so that a sample must have all of them. */
type Complete<T> = T extends (infer Item)[] ? Complete<Item>[]
  : T extends object ? string extends keyof T ? T : { [K in keyof T]-?: Complete<T[K]> }
  : T;

/** T without its optional fields, so that a sample cannot have any of them. */
type Minimal<T> = T extends (infer Item)[] ? Minimal<Item>[]
  : T extends object
    ? { [K in keyof T as Record<never, never> extends Pick<T, K> ? never : K]: Minimal<T[K]> }
  : T;

type Body<T extends KubeObject> = Omit<T, keyof KubeObject>;

const conditions: Complete<Condition[]> = [{
  type: "Ready",
  status: "True",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-02T03:04:05Z",
  reason: "AsExpected",
  message: "",
}];

const relatedResources: Complete<RelatedResource[]> = [{
  group: "",
  resource: "secrets",
  direction: "FromProvider",
  selector: {
    labelSelector: {
      matchLabels: { "example.org/tier": "gold" },
      matchExpressions: [{ key: "stage", operator: "In", values: ["test", "live"] }],
    },
    names: ["widgets-ca"],
  },
}];

const apis = [{ name: "widgets.example.org" }];

const completeExport: Complete<Body<Export>> = {
  spec: {
    title: "Widgets",
    description: "Small services",
    icon: { url: "https://example.org/widget.svg" },
    docs: "https://example.org/docs",
    apis,
    defaults: { conflictPolicy: "Adopt", relatedResources },
  },
  status: { conditions },
};

const completeCollection: Complete<Body<Collection>> = {
  spec: { title: "All", description: "Everything", exports: [{ name: "widgets" }] },
};

const completeGrant: Complete<Body<Grant>> = {
  spec: {
    identity: { subject: "https://idp.example.org#ada", displayName: "Ada", groups: ["staff"] },
    exportName: "widgets",
    apis,
    conflictPolicy: "Fail",
    relatedResources,
  },
  status: {
    namespace: "xbind-0123456789abcdef0123",
    serviceAccount: "widgets-0123456789abcdef0123",
    tokenSecret: "widgets-0123456789abcdef0123-token",
    conditions,
  },
};

const completeConnection: Complete<Body<Connection>> = {
  spec: {
    kubeconfigSecretRef: { namespace: "xbind", name: "widgets", key: "config" },
    schema: { source: "CRD", pullPolicy: "All", updatePolicy: "Once" },
    autoBind: true,
  },
  status: {
    remoteClusterUID: "6f3a",
    localClusterUID: "9b1c",
    activeSchemaSource: "CRD",
    exportedAPIs: [{
      name: "widgets.example.org",
      group: "example.org",
      resource: "widgets",
      scope: "Namespaced",
      versions: ["v1alpha1"],
    }],
    conditions,
  },
};

const completeBinding: Complete<Body<ClusterBinding> & Body<Binding>> = {
  spec: { connectionRef: { name: "widgets" }, apis, conflictPolicy: "Adopt", relatedResources },
  status: {
    boundAPIs: [{ name: "widgets.example.org", crdHash: "a1b2", conflictCount: 0 }],
    conditions,
  },
};

const minimalExport: Minimal<Body<Export>> = { spec: { title: "Widgets", apis } };
const minimalCollection: Minimal<Body<Collection>> = {
  spec: { title: "All", exports: [{ name: "widgets" }] },
};
const minimalGrant: Minimal<Body<Grant>> = {
  spec: { identity: { subject: "kubernetes#ada" }, exportName: "widgets", apis },
};
const minimalConnection: Minimal<Body<Connection>> = {
  spec: { kubeconfigSecretRef: { namespace: "xbind", name: "widgets" } },
};
const minimalBinding: Minimal<Body<ClusterBinding> & Body<Binding>> = {
  spec: { connectionRef: { name: "widgets" }, apis },
};

/** The spec and status of a custom resource. */
export interface Sample {
  spec: object;
  status?: object;
}

/** By kind: a sample with all fields, and one with the required fields only. */
export const SAMPLES: Record<string, { complete: Sample; minimal: Sample }> = {
  Export: { complete: completeExport, minimal: minimalExport },
  Collection: { complete: completeCollection, minimal: minimalCollection },
  Grant: { complete: completeGrant, minimal: minimalGrant },
  Connection: { complete: completeConnection, minimal: minimalConnection },
  ClusterBinding: { complete: completeBinding, minimal: minimalBinding },
  Binding: { complete: completeBinding, minimal: minimalBinding },
};

const none: Minimal<
  & ExportDefaults
  & RelatedResourceSelector
  & LabelSelector
  & ConnectionSchema
  & GrantStatus
  & ConnectionStatus
  & BindingStatus
> = {};
const icon: Minimal<NonNullable<ExportSpec["icon"]>> = { url: "https://example.org/widget.svg" };
const relatedResource: Minimal<RelatedResource> = {
  resource: "configmaps",
  direction: "FromConsumer",
};
const matchExpression: Minimal<LabelSelectorRequirement> = { key: "stage", operator: "Exists" };
const exportedApi: Minimal<ExportedApi> = { name: "widgets.example.org" };
const boundApi: Minimal<BoundApi> = { name: "widgets.example.org" };
const condition: Minimal<Condition> = {
  type: "Ready",
  status: "True",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  reason: "AsExpected",
  message: "",
};

/** By property name: the required fields of objects that minimal samples leave out. */
export const MINIMAL_PARTS: Record<string, object> = {
  status: none,
  defaults: none,
  selector: none,
  labelSelector: none,
  schema: none,
  icon,
  relatedResources: relatedResource,
  matchExpressions: matchExpression,
  exportedAPIs: exportedApi,
  boundAPIs: boundApi,
  conditions: condition,
};

const members = <T extends string | undefined>(all: Record<NonNullable<T>, true>): string[] =>
  Object.keys(all);

/** By property name: the values that its type allows. */
export const ENUMS: Record<string, string[]> = {
  conflictPolicy: members<ConflictPolicy>({ Fail: true, Adopt: true }),
  group: members<RelatedResource["group"]>({ "": true }),
  resource: members<RelatedResource["resource"]>({ secrets: true, configmaps: true }),
  direction: members<RelatedResource["direction"]>({ FromProvider: true, FromConsumer: true }),
  operator: members<LabelSelectorRequirement["operator"]>({
    In: true,
    NotIn: true,
    Exists: true,
    DoesNotExist: true,
  }),
  source: members<ConnectionSchema["source"]>({ Auto: true, CRD: true, OpenAPI: true }),
  pullPolicy: members<ConnectionSchema["pullPolicy"]>({ Bound: true, All: true, None: true }),
  updatePolicy: members<ConnectionSchema["updatePolicy"]>({ Always: true, Once: true }),
  activeSchemaSource: members<ConnectionStatus["activeSchemaSource"]>({ CRD: true, OpenAPI: true }),
  scope: members<ExportedApi["scope"]>({ Cluster: true, Namespaced: true }),
  status: members<Condition["status"]>({ True: true, False: true, Unknown: true }),
};
