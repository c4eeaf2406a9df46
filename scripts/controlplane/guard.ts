/** How one guarded process is started. */
export interface GuardedCommand {
  /** Names its `<name>.<n>.pid` and `<name>.log` in the guard's directory. */
  name: string;
  command: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string>;
}

/**
 * Blocks on its standard input, a pipe that the kernel closes when our process ends in any way. It
 * kills running processes first, because they could recreate the directory. It kills again those
 * that were recorded before the directory was moved away: see CHILD.
 */
const GUARD = `
trap '' HUP INT TERM
dir=$1
mkdir -p "\${dir%/*}" && mkdir -m 700 "$dir" || exit 1
echo ready
while read -r _; do :; done
end_all() {
  for file in "$1"/*.pid; do
    [ -f "$file" ] && read -r pid < "$file" && kill -9 "-$pid"
  done
}
end_all "$dir"
mv "$dir" "$dir.gone" || exit 1
end_all "$dir.gone"
tries=0
until rm -rf "$dir.gone" || [ "$tries" -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
[ -z "$2" ] || rmdir "\${dir%/*}"
true
`;

/**
 * Records its pid, then becomes the command. It looks for the pid file again and gives up without
 * it, because the guard may have moved the directory before the pid was written.
 */
const CHILD = `
set -e
echo $$ > "$1"
[ -f "$1" ]
log=$2
shift 2
exec "$@" >> "$log" 2>&1
`;

/** A started process. It does not keep our process alive; waiting for its end does. */
export class GuardedProcess {
  readonly #child: Deno.ChildProcess;
  /** How it ended; undefined while it runs. */
  status: Deno.CommandStatus | undefined;

  constructor(child: Deno.ChildProcess, onEnd: (process: GuardedProcess) => void) {
    this.#child = child;
    child.unref();
    child.status.then((status) => {
      this.status = status;
      onEnd(this);
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Sends a signal; does nothing to a process that has ended. */
  signal(signal: Deno.Signal): void {
    try {
      if (!this.status) this.#child.kill(signal);
    } catch (error) {
      // It has just ended, and we are about to hear of it.
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  ended(): Promise<Deno.CommandStatus> {
    if (!this.status) this.#child.ref();
    return this.#child.status;
  }
}

/** Keeps guards from garbage collection, which would close the pipe and trigger the guard. */
const live = new Set<Guard>();

/**
 * A directory and processes that do not outlive ours: when our process ends, by SIGKILL too, a
 * small shell kills the processes with all they started and removes the directory.
 */
export class Guard implements AsyncDisposable {
  #started = 0;
  readonly #running = new Set<GuardedProcess>();

  private constructor(readonly dir: string, readonly shell: Deno.ChildProcess) {
    live.add(this);
  }

  /**
   * Makes the directory, which must not exist, and guards it. With `andParent` the parent is
   * removed afterwards too, if nothing else is left in it.
   */
  static async start(dir: string, options: { andParent?: boolean } = {}): Promise<Guard> {
    const shell = new Deno.Command("sh", {
      args: ["-c", GUARD, "xbind-guard", dir, options.andParent ? "parent" : ""],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      cwd: "/",
      detached: true, // the terminal's Ctrl-C must not reach it
    }).spawn();
    const reader = shell.stdout.getReader();
    const { done } = await reader.read();
    await reader.cancel();
    shell.unref();
    if (done) {
      await shell.stdin.close().catch(() => {}); // the shell has ended: a broken pipe is no news
      throw new Error(`Cannot create the directory "${dir}": it exists or is not writable`);
    }
    return new Guard(dir, shell);
  }

  /** Starts a process whose output goes to `<name>.log`. */
  spawn({ name, command, args, cwd, env }: GuardedCommand): GuardedProcess {
    // One pid file per start, so that the end of one process never removes that of the next.
    const pidFile = `${this.dir}/${name}.${++this.#started}.pid`;
    const child = new Deno.Command("sh", {
      args: ["-c", CHILD, "sh", pidFile, this.logFile(name), command, ...args],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      cwd: cwd ?? this.dir,
      ...(env ? { env } : {}),
      detached: true, // a group of its own: the terminal leaves it alone, the guard gets all of it
    }).spawn();
    const process = new GuardedProcess(child, (ended) => {
      this.#running.delete(ended);
      forget(pidFile);
    });
    this.#running.add(process);
    return process;
  }

  /** The file with the output of a process. */
  logFile(name: string): string {
    return `${this.dir}/${name}.log`;
  }

  /** Kills all processes and removes the directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!live.delete(this)) return;
    const ends = [...this.#running].map((process) => process.ended());
    this.shell.ref();
    await this.shell.stdin.close();
    await Promise.all([this.shell.status, ...ends]);
  }
}

/**
 * Records a process in a guarded directory, so that the guard kills it at the end. Start it
 * `detached`, so that it leads a process group.
 */
export function putOnRecord(dir: string, name: string, child: Deno.ChildProcess): void {
  const pidFile = `${dir}/${name}.${child.pid}.pid`;
  Deno.writeTextFileSync(pidFile, `${child.pid}\n`);
  child.status.then(() => forget(pidFile));
}

/** Removes a pid from the record, because the system may reuse the number. */
function forget(pidFile: string): void {
  try {
    Deno.removeSync(pidFile);
  } catch {
    // The guard has removed the directory.
  }
}
