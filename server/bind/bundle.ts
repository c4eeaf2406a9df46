import { Buffer } from "node:buffer";
import { boundaryName, tokenSecretName } from "../../common/api/names.ts";
import { type Grant, type KubeObject, type Secret, SECRETS } from "../../common/api/resources.ts";
import { bundleFor, bundleObjects, providerKubeconfig } from "../../common/consumer/bundle.ts";
import { providerFailed } from "../../common/errors.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { toYaml } from "../../common/yaml.ts";
import { plainReason } from "./plain_reason.ts";

/** Holds the address and CA under which consumers reach the provider. */
export interface ProviderAddress {
  /** `--external-address`; empty means the address that the backend uses itself. */
  readonly externalAddress: string;
  /** The backend's own address of the API server. */
  readonly restHost: string;
  /** Content of `--external-ca-file`; without it, the CA of the token Secret. */
  readonly externalCaPem?: string | undefined;
}

/** Lists the dependencies of `assembleBundle`. */
export interface BundleDeps {
  readonly kube: KubeClient;
  readonly provider: ProviderAddress;
}

/** Builds the bundle of a Grant whose token Secret is filled. */
export function grantBundle(
  grant: Grant,
  { data = {} }: Secret,
  { externalAddress, restHost, externalCaPem }: ProviderAddress,
): KubeObject[] {
  const { apis, conflictPolicy, relatedResources = [] } = grant.spec;
  const kubeconfig = providerKubeconfig({
    server: externalAddress || restHost,
    caData: externalCaPem ? Buffer.from(externalCaPem).toString("base64") : data["ca.crt"],
    token: Buffer.from(data["token"] ?? "", "base64").toString("utf8"),
    namespace: boundaryOf(grant),
  });
  return bundleObjects(bundleFor(grant.metadata.name, toYaml([kubeconfig]), {
    apis: apis.map((api) => ({ name: api.name })),
    ...(conflictPolicy ? { conflictPolicy } : {}),
    ...(relatedResources.length > 0 ? { relatedResources } : {}),
  }));
}

/** Reads the Grant's token Secret live, and builds the bundle from it. */
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
  return grantBundle(grant, token, provider);
}

const boundaryOf = ({ status, spec }: Grant): string =>
  status?.namespace || boundaryName(spec.identity.subject);

const secretOf = ({ status, metadata }: Grant): string =>
  status?.tokenSecret || tokenSecretName(metadata.name);
