import { type Connection, type Secret, SECRETS } from "../../common/api/resources.ts";
import { KUBECONFIG_KEY } from "../../common/consumer/bundle.ts";
import {
  decodeKubeconfig,
  InlineKubeconfigError,
  parseInlineKubeconfig,
} from "../../common/kube/inline_kubeconfig.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { hashOf } from "../sync/records.ts";

/** The provider's address and credential, from the Secret of a Connection. */
export interface Credential {
  readonly secret: Secret;
  readonly target: KubeTarget;
  /** Changes when the kubeconfig does, and not with other fields of the Secret. */
  readonly fingerprint: string;
}

/** Why a Secret cannot be used. */
export class SecretError extends Error {
  override readonly name = "SecretError";
  constructor(readonly reason: "SecretNotFound" | "SecretInvalid", message: string) {
    super(message);
  }
}

/** Reads the kubeconfig of a Connection. Throws a `SecretError` that quotes nothing of it. */
export async function readCredential(
  kube: KubeClient,
  { spec: { kubeconfigSecretRef: { namespace, name, key = KUBECONFIG_KEY } } }: Connection,
  allowedNamespaces: readonly string[],
  signal: AbortSignal,
): Promise<Credential> {
  const where = `The Secret ${namespace}/${name}`;
  if (!allowedNamespaces.includes(namespace)) {
    const message = `${where} is in a namespace that --secret-namespaces does not list`;
    throw new SecretError("SecretInvalid", message);
  }
  const secret = await kube.find(SECRETS, { namespace, name }, signal);
  if (!secret) throw new SecretError("SecretNotFound", `${where} does not exist`);
  const data = secret.data?.[key];
  if (data === undefined) throw new SecretError("SecretInvalid", `${where} has no key ${key}`);
  try {
    const text = decodeKubeconfig(data);
    const target = parseInlineKubeconfig(text, { origin: `Secret ${namespace}/${name}` });
    return { secret, target, fingerprint: hashOf(text) };
  } catch (error) {
    if (!(error instanceof InlineKubeconfigError)) throw error;
    const message = `${where} holds a kubeconfig that cannot be used: ${error.message}`;
    throw new SecretError("SecretInvalid", message);
  }
}
