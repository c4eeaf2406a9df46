/** Fields of a cluster that the gateway refuses: they read files or lead to another server. */
export const REFUSED_CLUSTER_FIELDS: readonly string[] = ["certificate-authority", "proxy-url"];

/** Fields of a user that the gateway refuses: they read files, run programs or impersonate. */
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
