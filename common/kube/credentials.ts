import { Buffer } from "node:buffer";
import { ConfigFileError } from "./config_file_error.ts";
import type { ExecSpec, KubeTarget, Source } from "./kube_target.ts";
import { unreadable } from "./load_target.ts";

/** What TLS needs; a change of any field needs new connections. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Proof of identity for the next request. */
export interface Credentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** What an exec plugin printed. */
export interface ExecCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly expiresAtMs?: number;
}

/** Runs an exec plugin; only the command-line client has one. */
export type RunExec = (exec: ExecSpec, target: KubeTarget) => Promise<ExecCredential>;

interface ExecRun {
  readonly result: Promise<ExecCredential>;
  /** Unknown while the plugin runs. */
  expiresAtMs?: number | undefined;
}

/** How long a file's content is trusted before it is read again. */
const FILE_MAX_AGE_MS = 5_000;

/** Keeps the credentials of one target current: rotated files are noticed, exec results kept. */
export class CredentialSource {
  readonly #target: KubeTarget;
  readonly #runExec: RunExec | undefined;
  readonly #now: () => number;
  readonly #files = new Map<string, { text: string; readAtMs: number }>();
  #exec: ExecRun | undefined;
  /** What was found last, and until when nothing can have changed. */
  #known: { readonly credentials: Credentials; readonly untilMs: number } | undefined;

  constructor(target: KubeTarget, runExec?: RunExec, now: () => number = Date.now) {
    this.#target = target;
    this.#runExec = runExec;
    this.#now = now;
  }

  /** The credentials as of now. */
  async current(): Promise<Credentials> {
    if (this.#known && this.#now() < this.#known.untilMs) return this.#known.credentials;
    const { ca, clientCertificate, auth, impersonation } = this.#target;
    // A plugin's result has a time of its own, and a file that is missing may come any moment.
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

  /** Whether there are other credentials than those the server refused; looks anew if need be. */
  async renewed(refused: Credentials): Promise<boolean> {
    const isRefused = async () => JSON.stringify(await this.current()) === JSON.stringify(refused);
    if (!await isRefused()) return true; // another call was refused too, and has looked
    this.refresh();
    return !await isRefused();
  }

  /** Forgets how long files and exec results may still be used. */
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
      // A rotation may replace the file under us: the last good content serves until it is back.
      if (known) return known.text;
      throw cause instanceof ConfigFileError ? cause : unreadable(source.file, cause);
    }
  }

  /** Callers that come while the plugin runs wait for that one run: it may be asking its user. */
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

/** The refusal of an exec plugin by a process that never starts other processes. */
export const execRefused = (target: KubeTarget): ConfigFileError =>
  new ConfigFileError(
    target.origin,
    "it runs a command to get credentials (exec), which this process never does",
    "use a kubeconfig with a token or a client certificate, or the in-cluster ServiceAccount",
  );
