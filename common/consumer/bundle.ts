import { CORE_API_VERSION } from "../api/groups.ts";
import { BUNDLE_KUBECONFIG, CONSUMER_NAMESPACE } from "../api/names.ts";
import type {
  BindingSpec,
  ClusterBinding,
  Connection,
  KubeObject,
  Secret,
} from "../api/resources.ts";

/** The three objects that bind one Export on a consumer cluster, all named like the Grant. */
export interface Bundle {
  readonly secret: Secret & { readonly stringData: { readonly kubeconfig: string } };
  readonly connection: Connection;
  readonly binding: ClusterBinding;
}

/** The data key under which the Connection finds the kubeconfig in the Secret. */
export const KUBECONFIG_KEY = "kubeconfig";

/** Builds the bundle of a Grant. */
export const bundleFor = (
  name: string,
  kubeconfig: string,
  spec: Omit<BindingSpec, "connectionRef">,
): Bundle => ({
  secret: {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: CONSUMER_NAMESPACE },
    type: "Opaque",
    stringData: { [KUBECONFIG_KEY]: kubeconfig },
  },
  connection: {
    apiVersion: CORE_API_VERSION,
    kind: "Connection",
    metadata: { name },
    spec: { kubeconfigSecretRef: { namespace: CONSUMER_NAMESPACE, name, key: KUBECONFIG_KEY } },
  },
  binding: {
    apiVersion: CORE_API_VERSION,
    kind: "ClusterBinding",
    metadata: { name },
    spec: { connectionRef: { name }, ...spec },
  },
});

/** Lists the objects of a bundle in the order to apply them. */
export const bundleObjects = ({ secret, connection, binding }: Bundle): KubeObject[] => [
  secret,
  connection,
  binding,
];

/** The parts of a provider's kubeconfig that differ from bundle to bundle. */
export interface ProviderAccess {
  readonly server: string;
  /** PEM certificates in base64; absent when the system's roots are to be trusted. */
  readonly caData?: string | undefined;
  readonly token: string;
  readonly namespace?: string | undefined;
}

/** Builds a kubeconfig with one cluster, one user and one context. */
export function providerKubeconfig({ server, caData, token, namespace }: ProviderAccess): object {
  const { cluster, user, context } = BUNDLE_KUBECONFIG;
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: cluster,
      cluster: { server, ...(caData ? { "certificate-authority-data": caData } : {}) },
    }],
    users: [{ name: user, user: { token } }],
    contexts: [{
      name: context,
      context: { cluster, user, ...(namespace ? { namespace } : {}) },
    }],
    "current-context": context,
  };
}

/** The Namespace that holds the Secret, for clusters where the konnector is not installed now. */
export const consumerNamespace = (): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: CONSUMER_NAMESPACE },
});
