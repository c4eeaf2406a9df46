import { stringify } from "yaml";

/** The credentials of a kubeconfig: a client certificate or a token. */
export type Credentials = { cert: string; key: string } | { token: string };

/** The parts of a kubeconfig. */
export interface KubeconfigParts {
  cluster: string;
  server: string;
  caPem: string;
  user: string;
  credentials: Credentials;
  namespace?: string;
}

const base64 = (text: string): string => new TextEncoder().encode(text).toBase64();

/** The text of a kubeconfig with one context and all data inline. */
export const kubeconfigFor = (parts: KubeconfigParts): string => {
  const { cluster, server, caPem, user, credentials, namespace } = parts;
  const context = `${user}@${cluster}`;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": context,
    clusters: [{
      name: cluster,
      cluster: { server, "certificate-authority-data": base64(caPem) },
    }],
    users: [{
      name: user,
      user: "token" in credentials ? { token: credentials.token } : {
        "client-certificate-data": base64(credentials.cert),
        "client-key-data": base64(credentials.key),
      },
    }],
    contexts: [{ name: context, context: { cluster, user, ...(namespace && { namespace }) } }],
  }, { version: "1.1", lineWidth: 0 });
};

/** A file name for the kubeconfig of any user: readable, and different for different users. */
export const kubeconfigFileName = async (...identity: string[]): Promise<string> => {
  const octets = new TextEncoder().encode(JSON.stringify(identity));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", octets)).toHex();
  const readable = identity.join("-").replaceAll(/[^A-Za-z0-9.-]+/g, "-").slice(0, 40);
  return `${readable}-${hash.slice(0, 8)}.kubeconfig`;
};
