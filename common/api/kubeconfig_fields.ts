/** Cluster fields that untrusted kubeconfigs must not have: they read files or lead elsewhere. */
export const REFUSED_CLUSTER_FIELDS: readonly string[] = ["certificate-authority", "proxy-url"];

/** User fields that they must not have: they read files, run programs or impersonate. */
export const REFUSED_USER_FIELDS: readonly string[] = [
  "exec",
  "auth-provider",
  "tokenFile",
  "token-file",
  "client-certificate",
  "client-key",
  "as",
  "as-uid",
  "as-groups",
  "as-user-extra",
];
