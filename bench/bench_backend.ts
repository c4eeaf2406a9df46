import type { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import type { BindResult } from "../common/api/wire.ts";
import { Connections } from "../common/http/connections.ts";
import { dialTo } from "../common/http/dial.ts";
import { exchangeText } from "../common/http/exchange.ts";
import { Backend } from "../tests/support/programs/backend.ts";
import type { DaemonOptions } from "../tests/support/programs/daemon.ts";
import { type SealedSessions, sealedSessions } from "../tests/support/planes/sealed_sessions.ts";

/** The options of a measured backend. */
export interface BenchBackendOptions extends Pick<DaemonOptions, "flags"> {
  /** The session keys that replicas share, by default new ones. */
  readonly sessions?: SealedSessions;
}

const GATEWAY_FLAGS = ["--oidc-mock", "--listen-address=127.0.0.1:0"];
const LIMITS = { maxBytes: 64 * 1024 * 1024, timeoutMs: 120_000 };

/** A request to the gateway. */
interface Asked {
  readonly method?: "GET" | "POST";
  readonly token?: string;
  readonly body?: string;
}

/** A backend process with its own user name, and sessions for any user. */
export class BenchBackend implements AsyncDisposable {
  readonly backend: Backend;
  readonly user: string;
  readonly sessions: SealedSessions;
  #url = "";
  #connections: Connections | undefined;

  private constructor(backend: Backend, user: string, sessions: SealedSessions) {
    this.backend = backend;
    this.user = user;
    this.sessions = sessions;
  }

  /** Starts a backend, and waits until it serves metrics. It may not be ready yet. */
  static async start(
    plane: ControlPlane,
    { flags = [], sessions }: BenchBackendOptions = {},
  ): Promise<BenchBackend> {
    const user = `backend-${crypto.randomUUID().slice(0, 8)}`;
    const sealed = sessions ?? await sealedSessions();
    const backend = await Backend.start(plane, {
      kubeconfig: await plane.kubeconfigFor(user, ["system:masters"]),
      flags: [...GATEWAY_FLAGS, ...flags],
      env: sealed.env,
    });
    const started = new BenchBackend(backend, user, sealed);
    try {
      await backend.addressOf("/metrics");
      if (!flags.includes("--enable-gateway=false")) {
        started.#url = await backend.addressOf("/");
        started.#connections = new Connections(dialTo({ base: new URL(started.#url) }), {
          keep: true,
        });
      }
      return started;
    } catch (cause) {
      await backend[Symbol.asyncDispose]();
      throw new Error(`The backend did not start: ${backend.lines.join("\n")}`, { cause });
    }
  }

  /** The gateway's URL, such as `http://127.0.0.1:4711`. */
  get url(): string {
    return this.#url;
  }

  /** Waits until its caches are filled. */
  async ready(timeoutMs = 120_000): Promise<void> {
    const url = `${await this.backend.addressOf("/readyz")}/readyz`;
    await eventually("the backend is ready", async () => {
      const answer = await fetch(url);
      await answer.body?.cancel();
      return answer.ok;
    }, { timeoutMs, everyMs: 10 });
  }

  /** Reads a metric by the text before its value. */
  async metric(text: string): Promise<number> {
    const answer = await fetch(`${await this.backend.addressOf("/metrics")}/metrics`);
    const line = (await answer.text()).split("\n").find((each) => each.startsWith(`${text} `));
    return Number(line?.slice(text.length + 1) ?? NaN);
  }

  /** Reads the number of successful reconciles of Grants. */
  reconciled(): Promise<number> {
    return this.metric('controller_runtime_reconcile_total{controller="grant",result="success"}');
  }

  /** Waits until its caches are filled and every existing Grant is reconciled. */
  async settled(): Promise<void> {
    await this.ready();
    let before = -1;
    await eventually("the backend is at rest", async () => {
      const now = await this.reconciled() || 0; // missing before the first reconcile
      const isAtRest = now === before;
      before = now;
      return isAtRest;
    }, { timeoutMs: 300_000, everyMs: 500 });
  }

  /** Reads the resident memory in megabytes. */
  async residentMb(): Promise<number> {
    return await this.metric("process_resident_memory_bytes") / 1e6;
  }

  /** Reads the CPU time since its start, in seconds. */
  cpuSeconds(): Promise<number> {
    return this.metric("process_cpu_seconds_total");
  }

  /** Reads a path with a session, compressed as browsers do. The answer must be 200. */
  async read(token: string, path: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(this.#url + path, { headers });
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status} ${await answer.text()}`);
    await answer.bytes();
  }

  /** Binds an Export. */
  async bind(token: string, exportName: string): Promise<BindResult> {
    const body = JSON.stringify({ export: exportName });
    return JSON.parse(await this.#ask("/api/bind", { method: "POST", token, body }));
  }

  /** Picks up a bundle, and returns its text. */
  async pickUp({ pickupURL }: BindResult): Promise<string> {
    return await this.#ask(pickupURL);
  }

  /**
   * Returns the text of an answer, which must be 200. Uses the HTTP client of the raw calls, so
   * that its cost is on both sides of a comparison.
   */
  async #ask(path: string, { method = "GET", token, body }: Asked = {}): Promise<string> {
    if (!this.#connections) throw new Error("this backend runs without its gateway");
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const { status, text } = await exchangeText(
      new URL(this.#url),
      this.#connections,
      { method, path, headers, body },
      { maxBytes: LIMITS.maxBytes, signal: AbortSignal.timeout(LIMITS.timeoutMs) },
    );
    if (status !== 200) throw new Error(`${path} was answered ${status} ${text}`);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connections?.[Symbol.dispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}
