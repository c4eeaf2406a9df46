import { Buffer } from "node:buffer";
import { CORE_API_VERSION } from "../../common/api/groups.ts";
import {
  type ClusterBinding,
  type Connection,
  type Grant,
  type KubeObject,
  type Secret,
  SECRETS,
} from "../../common/api/resources.ts";
import { providerFailed } from "../../common/errors.ts";
import { toYaml } from "../../common/to_yaml.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import {
  boundaryName,
  BUNDLE_KUBECONFIG,
  CONSUMER_NAMESPACE,
  tokenSecretName,
} from "../../common/api/names.ts";
import { plainReason } from "./plain_reason.ts";

/** How consumers reach the provider. */
export interface ProviderAddress {
  /** `--external-address`; empty means the address that the backend uses itself. */
  readonly externalAddress: string;
  /** The backend's own address of the API server. */
  readonly restHost: string;
  /** Content of `--external-ca-file`; without it, the CA of the token Secret. */
  readonly externalCaPem?: string | undefined;
}

/** What assembling a bundle needs. */
export interface BundleDeps {
  readonly kube: KubeClient;
  readonly provider: ProviderAddress;
}

/** The name under which the Connection finds the kubeconfig in the Secret. */
const KUBECONFIG_KEY = "kubeconfig";

/** Secret, Connection and ClusterBinding of a Grant whose token Secret is filled, in that order. */
export function bundleFor(grant: Grant, token: Secret, provider: ProviderAddress): KubeObject[] {
  const { name } = grant.metadata;
  const { apis, conflictPolicy, relatedResources = [] } = grant.spec;
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: CONSUMER_NAMESPACE },
    type: "Opaque",
    stringData: { [KUBECONFIG_KEY]: toYaml([kubeconfigFor(grant, token, provider)]) },
  };
  const connection: Connection = {
    apiVersion: CORE_API_VERSION,
    kind: "Connection",
    metadata: { name },
    spec: { kubeconfigSecretRef: { namespace: CONSUMER_NAMESPACE, name, key: KUBECONFIG_KEY } },
  };
  const binding: ClusterBinding = {
    apiVersion: CORE_API_VERSION,
    kind: "ClusterBinding",
    metadata: { name },
    spec: {
      connectionRef: { name },
      apis: apis.map((api) => ({ name: api.name })),
      ...(conflictPolicy ? { conflictPolicy } : {}),
      ...(relatedResources.length > 0 ? { relatedResources } : {}),
    },
  };
  return [secret, connection, binding];
}

/** Reads the Grant's token Secret live and builds the bundle from it. */
export async function assembleBundle(
  { kube, provider }: BundleDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const action = `assemble the bundle of Grant "${grant.metadata.name}"`;
  const key = { name: secretOf(grant), namespace: boundaryOf(grant) };
  let token: Secret;
  try {
    token = await kube.get(SECRETS, key, signal);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw providerFailed(action, plainReason(error), error);
  }
  if (!token.data?.["token"]) {
    throw providerFailed(action, "the provider has not issued its token; bind again");
  }
  return bundleFor(grant, token, provider);
}

const boundaryOf = ({ status, spec }: Grant): string =>
  status?.namespace || boundaryName(spec.identity.subject);

const secretOf = ({ status, metadata }: Grant): string =>
  status?.tokenSecret || tokenSecretName(metadata.name);

function kubeconfigFor(
  grant: Grant,
  { data = {} }: Secret,
  { externalAddress, restHost, externalCaPem }: ProviderAddress,
): object {
  const { cluster, user, context } = BUNDLE_KUBECONFIG;
  const ca = externalCaPem ? Buffer.from(externalCaPem).toString("base64") : data["ca.crt"];
  const token = Buffer.from(data["token"] ?? "", "base64").toString("utf8");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: cluster,
      cluster: {
        server: externalAddress || restHost,
        ...(ca ? { "certificate-authority-data": ca } : {}),
      },
    }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: context, context: { cluster, user, namespace: boundaryOf(grant) } }],
    "current-context": context,
  };
}
