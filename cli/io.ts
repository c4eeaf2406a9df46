/** The world a command line runs in; a test may pass its own. */
export interface Io {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes data to stdout, as it is. */
  readonly out: (text: string) => void;
  /** Writes a line of talk to stderr. */
  readonly say: (line: string) => void;
  /** Writes to stderr as it is, for what is redrawn in place; absent where nothing can be. */
  readonly draw?: (text: string) => void;
  readonly isTerminal: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
  };
  readonly now: () => Date;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** What a login needs besides. */
export interface LoginIo extends Io {
  readonly platform: Platform;
  /** Lines typed or piped into stdin, until its end. */
  readonly lines: (signal: AbortSignal) => AsyncIterable<string>;
  /** Shows the URL in a browser; false when none could be started. */
  readonly openBrowser: (url: string) => Promise<boolean>;
}

/** The systems whose conventions differ for us; all others follow Linux. */
export type Platform = "linux" | "darwin" | "windows";
