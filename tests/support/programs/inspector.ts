import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { Backend } from "./backend.ts";

/** An event of the inspector. */
export interface InspectorEvent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Values of `DaemonOptions.denoFlags` that open an inspector on a free port. */
export const INSPECTABLE = ["--inspect=127.0.0.1:0"];

/** A client of V8's inspector in a backend that was started with `INSPECTABLE`. */
export class Inspector implements AsyncDisposable {
  /** Is called with every event. */
  onEvent: (event: InspectorEvent) => void = () => {};
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  #lastId = 0;
  #halts = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result, error, method, params } = JSON.parse(data);
      if (method === "Debugger.paused") this.#halts++;
      if (id === undefined) return this.onEvent({ method, params });
      if (error) this.#asked.get(id)?.reject(new Error(error.message));
      else this.#asked.get(id)?.resolve(result);
      this.#asked.delete(id);
    };
    socket.onclose = () => {
      for (const { reject } of this.#asked.values()) reject(new Error("the inspector is closed"));
    };
  }

  static async attach(backend: Backend): Promise<Inspector> {
    const url = await eventually("the inspector listens", () => {
      return backend.lines.join("\n").match(/Debugger listening on (ws:\S+)/)?.[1];
    });
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error("the inspector cannot be reached"));
    });
    return new Inspector(socket);
  }

  /** Sends a command, and returns the answer. */
  async ask(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const asked = Promise.withResolvers<Record<string, unknown>>();
    this.#asked.set(id, asked);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return await asked.promise;
  }

  /** Halts the process whenever it reaches the only place after this text in its script. */
  async haltAfter(text: string): Promise<string> {
    const path = await Backend.script();
    const parts = (await Deno.readTextFile(path)).split(text);
    assert.equal(parts.length, 2, `"${text}" must be in the script exactly once`);
    const lines = `${parts[0]}${text}`.split("\n");
    await this.ask("Debugger.enable");
    const { breakpointId, locations } = await this.ask("Debugger.setBreakpointByUrl", {
      url: `file://${await Deno.realPath(path)}`,
      lineNumber: lines.length - 1,
      columnNumber: lines.at(-1)?.length ?? 0,
    });
    assert.ok(Array.isArray(locations) && locations.length === 1, JSON.stringify(locations));
    return String(breakpointId);
  }

  /** Waits until the process has halted this many times. */
  async halted(times: number): Promise<void> {
    await eventually(`the process halts ${times} times`, () => this.#halts >= times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => {
      this.#socket.addEventListener("close", resolve, { once: true });
    });
    this.#socket.close();
    await closed;
  }
}
