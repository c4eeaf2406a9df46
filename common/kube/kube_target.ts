/** Text, given inline or read from a file that may change. */
export type Source = { readonly data: string } | { readonly file: string };

/** A command of the user's kubeconfig that prints a credential. */
export interface ExecSpec {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly installHint?: string;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
  readonly provideClusterInfo: boolean;
  /** The folder of the kubeconfig, to which a command with a slash is relative. */
  readonly baseDir: string;
}

/** How the user authenticates, besides a client certificate. */
export type TargetAuth =
  | { readonly kind: "none" }
  /** `fallback` is used while the source cannot be read. */
  | { readonly kind: "token"; readonly token: Source; readonly fallback?: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "exec"; readonly exec: ExecSpec };

/** One cluster and user, resolved: all that a transport needs. */
export interface KubeTarget {
  /** Its origin, for messages, such as `context "dev" of /home/me/.kube/config`. */
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
  /** The part of the cluster's entry that exec plugins read. */
  readonly execConfig?: unknown;
  readonly clientCertificate?: { readonly cert: Source; readonly key: Source };
  readonly auth: TargetAuth;
  /** Impersonation headers, ready to send. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
}

/** A kubeconfig or credential file cannot be used: names the file, the fault and the remedy. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError";
  readonly file: string;
  readonly fault: string;
  readonly remedy: string | undefined;

  constructor(file: string, fault: string, remedy?: string) {
    super(`Cannot use ${file}: ${fault}${remedy ? `; ${remedy}` : ""}`);
    this.file = file;
    this.fault = fault;
    this.remedy = remedy;
  }
}
