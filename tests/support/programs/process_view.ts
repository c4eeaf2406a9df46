/** Reads a process's state from /proc. */
export class ProcessView {
  readonly #dir: string;

  constructor(pid: number) {
    this.#dir = `/proc/${pid}`;
  }

  /** Returns the arguments, the program first. */
  commandLine(): string[] {
    return this.#read("cmdline").split("\0").filter((argument) => argument !== "");
  }

  /** Returns the running child processes. */
  children(): number[] {
    return [...Deno.readDirSync(`${this.#dir}/task`)].flatMap(({ name }) =>
      this.#read(`task/${name}/children`).split(" ").filter(Boolean).map(Number)
    );
  }

  /**
   * Returns the page faults of all child processes that have ended. Every program causes some, so 0
   * means that no child process ever ran.
   */
  faultsOfEndedChildren(): number {
    const stat = this.#read("stat");
    // Skip the name, which may hold anything. Minor and major faults are fields 11 and 13.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[8]) + Number(fields[10]);
  }

  /** Returns the peak memory in bytes. */
  peakResidentBytes(): number {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(this.#read("status")) ?? [];
    if (!kilobytes) throw new Error(`${this.#dir} has no peak`);
    return Number(kilobytes) * 1024;
  }

  /** Returns the current memory in bytes. */
  residentBytes(): number {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(this.#read("status")) ?? [];
    if (!kilobytes) throw new Error(`${this.#dir} has no memory`);
    return Number(kilobytes) * 1024;
  }

  /** Counts the open sockets. */
  sockets(): number {
    const dir = `${this.#dir}/fd`;
    return [...Deno.readDirSync(dir)].filter(({ name }) => {
      try {
        return Deno.readLinkSync(`${dir}/${name}`).startsWith("socket:");
      } catch {
        return false; // closed meanwhile
      }
    }).length;
  }

  #read(file: string): string {
    try {
      return Deno.readTextFileSync(`${this.#dir}/${file}`);
    } catch (error) {
      // Threads come and go.
      if (file.startsWith("task/") && error instanceof Deno.errors.NotFound) return "";
      throw error;
    }
  }
}
