/** What the kernel tells about a process. */
export class ProcessView {
  readonly #dir: string;

  constructor(pid: number) {
    this.#dir = `/proc/${pid}`;
  }

  /** Its arguments, the program first. */
  commandLine(): string[] {
    return this.#read("cmdline").split("\0").filter((argument) => argument !== "");
  }

  /** The processes that it started and that still run. */
  children(): number[] {
    return [...Deno.readDirSync(`${this.#dir}/task`)].flatMap(({ name }) =>
      this.#read(`task/${name}/children`).split(" ").filter(Boolean).map(Number)
    );
  }

  /**
   * Page faults of all processes that it ever started and waited for; no program can run without
   * any, so 0 means that there were none.
   */
  faultsOfEndedChildren(): number {
    const stat = this.#read("stat");
    // The name in parentheses may hold anything; minor and major faults are fields 11 and 13.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[8]) + Number(fields[10]);
  }

  /** The most memory that it ever held at once. */
  peakResidentBytes(): number {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(this.#read("status")) ?? [];
    if (!kilobytes) throw new Error(`${this.#dir} tells no peak`);
    return Number(kilobytes) * 1024;
  }

  /** The memory that it holds now. */
  residentBytes(): number {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(this.#read("status")) ?? [];
    if (!kilobytes) throw new Error(`${this.#dir} tells no memory`);
    return Number(kilobytes) * 1024;
  }

  /** How many sockets it has open. */
  sockets(): number {
    const dir = `${this.#dir}/fd`;
    return [...Deno.readDirSync(dir)].filter(({ name }) => {
      try {
        return Deno.readLinkSync(`${dir}/${name}`).startsWith("socket:");
      } catch {
        return false; // closed in between
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
