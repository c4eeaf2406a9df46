/** Text that is given inline, or read from a file each time it may have changed. */
export type Source = { readonly data: string } | { readonly file: string };

/** A command of the user's own kubeconfig that prints a credential. */
export interface ExecSpec {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly installHint?: string;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
  readonly provideClusterInfo: boolean;
  /** Where the kubeconfig lies; a command with a slash is relative to it. */
  readonly baseDir: string;
}

/** How the user proves who they are, beside a client certificate. */
export type TargetAuth =
  | { readonly kind: "none" }
  /** The fallback serves while the source cannot be read. */
  | { readonly kind: "token"; readonly token: Source; readonly fallback?: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "exec"; readonly exec: ExecSpec };

/** One cluster as one user: everything a transport needs to know, and nothing it has to look up. */
export interface KubeTarget {
  /** For messages: where this came from, such as `context "dev" of /home/me/.kube/config`. */
  readonly origin: string;
  /** `http(s)://host[:port][/prefix]`, without a trailing slash. */
  readonly server: string;
  /** Name of the context; empty inside a cluster. */
  readonly context: string;
  readonly namespace?: string;
  readonly ca?: Source;
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly proxyUrl?: string;
  /** What the cluster's entry holds for exec plugins. */
  readonly execConfig?: unknown;
  readonly clientCertificate?: { readonly cert: Source; readonly key: Source };
  readonly auth: TargetAuth;
  /** Impersonation headers, ready to send. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
}
