/** The world a command line runs in; a test may pass its own. */
export interface Io {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes data to stdout, as it is. */
  readonly out: (text: string) => void;
  /** Writes a line of talk to stderr. */
  readonly say: (line: string) => void;
  readonly isTerminal: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
  };
  readonly now: () => Date;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}
