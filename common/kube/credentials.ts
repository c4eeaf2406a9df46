import { Buffer } from "node:buffer";
import { ConfigFileError, type ExecSpec, type KubeTarget, type Source } from "./kube_target.ts";
import { unreadable } from "./load_target.ts";

/** TLS material. A change of any field needs new connections. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Credentials for the next request. */
export interface Credentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** The credential that an exec plugin printed. */
export interface ExecCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly expiresAtMs?: number;
}

/** Runs an exec plugin. Only the command-line client has one. */
export type RunExec = (exec: ExecSpec, target: KubeTarget) => Promise<ExecCredential>;

interface ExecRun {
  readonly result: Promise<ExecCredential>;
  /** Unknown while the plugin runs. */
  expiresAtMs?: number | undefined;
}

/** How long a file's content is trusted before it is read again. */
const FILE_MAX_AGE_MS = 5_000;

/** Keeps the credentials of one target current: rereads rotated files, and keeps exec results. */
export class CredentialSource {
  readonly #target: KubeTarget;
  readonly #runExec: RunExec | undefined;
  readonly #now: () => number;
  readonly #files = new Map<string, { text: string; readAtMs: number }>();
  #exec: ExecRun | undefined;
  /** The last result, and until when it is valid. */
  #known: { readonly credentials: Credentials; readonly untilMs: number } | undefined;

  constructor(target: KubeTarget, runExec?: RunExec, now: () => number = Date.now) {
    this.#target = target;
    this.#runExec = runExec;
    this.#now = now;
  }

  /** Returns the current credentials. */
  async current(): Promise<Credentials> {
    if (this.#known && this.#now() < this.#known.untilMs) return this.#known.credentials;
    const { ca, clientCertificate, auth, impersonation } = this.#target;
    // An exec result has an expiry of its own, and a missing file may appear at any moment.
    let mayChange = auth.kind === "exec";
    const tls: { ca?: string; cert?: string; key?: string } = {};
    const headers: Record<string, string | string[]> = { ...impersonation };
    if (ca) tls.ca = await this.#read(ca);
    if (clientCertificate) {
      tls.cert = await this.#read(clientCertificate.cert);
      tls.key = await this.#read(clientCertificate.key);
    }
    if (auth.kind === "token") {
      const token = await this.#read(auth.token).catch((error) => {
        mayChange = true;
        return auth.fallback ?? Promise.reject(error);
      });
      headers["Authorization"] = `Bearer ${token.trim()}`;
    } else if (auth.kind === "basic") {
      const pair = Buffer.from(`${auth.username}:${auth.password}`).toString("base64");
      headers["Authorization"] = `Basic ${pair}`;
    } else if (auth.kind === "exec") {
      const { token, cert, key } = await this.#execCredential(auth.exec);
      if (token) headers["Authorization"] = `Bearer ${token}`;
      if (cert && key) Object.assign(tls, { cert, key });
    }
    const credentials = { tls, headers };
    const ages = [...this.#files.values()].map(({ readAtMs }) => readAtMs + FILE_MAX_AGE_MS);
    this.#known = mayChange ? undefined : { credentials, untilMs: Math.min(...ages) };
    return credentials;
  }

  /** Returns whether there are other credentials than the refused ones. Rereads them if needed. */
  async renewed(refused: Credentials): Promise<boolean> {
    const isRefused = async () => JSON.stringify(await this.current()) === JSON.stringify(refused);
    if (!await isRefused()) return true; // another refused call has renewed them
    this.refresh();
    return !await isRefused();
  }

  /** Expires all files and exec results. */
  refresh(): void {
    this.#known = undefined;
    for (const file of this.#files.values()) file.readAtMs = -Infinity;
    this.#exec = undefined;
  }

  async #read(source: Source): Promise<string> {
    if ("data" in source) return source.data;
    const known = this.#files.get(source.file);
    if (known && this.#now() - known.readAtMs < FILE_MAX_AGE_MS) return known.text;
    try {
      const text = await Deno.readTextFile(source.file);
      if (text.trim() === "") throw new ConfigFileError(source.file, "it is empty");
      this.#files.set(source.file, { text, readAtMs: this.#now() });
      return text;
    } catch (cause) {
      // A rotation may remove the file for a moment. Use its last content until it is back.
      if (known) return known.text;
      throw cause instanceof ConfigFileError ? cause : unreadable(source.file, cause);
    }
  }

  /** Runs the plugin once for all concurrent callers, because it may prompt its user. */
  async #execCredential(exec: ExecSpec): Promise<ExecCredential> {
    if (!this.#runExec) throw execRefused(this.#target);
    if (!this.#exec || (this.#exec.expiresAtMs ?? Infinity) <= this.#now()) {
      const run: ExecRun = { result: this.#runExec(exec, this.#target) };
      this.#exec = run;
      run.result.then(
        ({ expiresAtMs }) => run.expiresAtMs = expiresAtMs,
        () => run.expiresAtMs = -Infinity,
      );
    }
    return await this.#exec.result;
  }
}

/** Builds the error for an exec plugin in a process that must not start others. */
export const execRefused = (target: KubeTarget): ConfigFileError =>
  new ConfigFileError(
    target.origin,
    "it runs a command to get credentials (exec), which this process never does",
    "use a kubeconfig with a token or a client certificate, or the in-cluster ServiceAccount",
  );
