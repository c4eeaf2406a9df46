import { eventually } from "./eventually.ts";
import type { Guard, GuardedProcess } from "./guard.ts";
import { tailOf } from "../tools/tail_of.ts";

/** The command of a controlled process, and its readiness check. */
export interface ProcessDefinition {
  name: string;
  command: string;
  args: string[];
  isReady: () => Promise<boolean>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

const isStopped = async (pid: number): Promise<boolean> => {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => undefined);
  if (stat) return /\) [Tt] /.test(stat);
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "state=", "-p", `${pid}`] })
    .output();
  return new TextDecoder().decode(stdout).trim().startsWith("T");
};

/** One process of a control plane; it can be stopped and started again on the same data. */
export class ControlledProcess {
  readonly #guard: Guard;
  readonly #definition: ProcessDefinition;
  #process: GuardedProcess | undefined;

  constructor(guard: Guard, definition: ProcessDefinition) {
    this.#guard = guard;
    this.#definition = definition;
  }

  get name(): string {
    return this.#definition.name;
  }

  /** True from start to end, also while paused. */
  get running(): boolean {
    return this.#process !== undefined && !this.#process.status;
  }

  /** The process id of the last start. */
  get pid(): number {
    return this.#last().pid;
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    if (this.running) throw new Error(`Cannot start ${this.name}: it is running`);
    const process = this.#guard.spawn(this.#definition);
    this.#process = process;
    try {
      await eventually(
        `${this.name} is ready`,
        async () => process.status || await this.#definition.isReady(),
        { timeoutMs: READY_TIMEOUT_MS, everyMs: 50 },
      );
    } catch (cause) {
      const failure = await this.#failure(`it is not ready after ${READY_TIMEOUT_MS / 1000} s`);
      await this.kill();
      throw new Error(failure, { cause });
    }
    if (process.status) throw new Error(await this.#failure(ending(process.status)));
  }

  /** Asks it to end and waits; kills it after 30 s. */
  async stop(): Promise<void> {
    const process = this.#last();
    process.signal("SIGTERM");
    process.signal("SIGCONT"); // a paused one would not hear the first
    const timer = setTimeout(() => process.signal("SIGKILL"), STOP_TIMEOUT_MS);
    await process.ended();
    clearTimeout(timer);
  }

  /** Kills it without warning and waits. */
  async kill(): Promise<void> {
    const process = this.#last();
    process.signal("SIGKILL");
    await process.ended();
  }

  /** Stops and starts it. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Freezes it: connections stay open, nothing answers. */
  async pause(): Promise<void> {
    const process = this.#last();
    process.signal("SIGSTOP");
    await eventually(`${this.name} is paused`, () => isStopped(process.pid), { everyMs: 5 });
  }

  /** Continues a paused process. */
  resume(): void {
    this.#last().signal("SIGCONT");
  }

  /** The last lines it wrote, over all its starts. */
  output(lines = 20): Promise<string> {
    return tailOf(this.#guard.logFile(this.name), lines);
  }

  #last(): GuardedProcess {
    if (!this.#process) throw new Error(`Cannot control ${this.name}: it was never started`);
    return this.#process;
  }

  async #failure(state: string): Promise<string> {
    const { command, args } = this.#definition;
    const commandLine = [command, ...args].join(" ");
    return `Cannot start ${this.name}: ${state}\n${commandLine}\n${await this.output()}`;
  }
}

const ending = ({ code, signal }: Deno.CommandStatus): string =>
  signal ? `it was ended by ${signal}` : `it ended with code ${code}`;
