/** The colours and weights of text on a terminal. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow";

/** Text in a style, which the terminal gets only where people see and want it. */
export interface Styled {
  readonly text: string;
  readonly style: Style;
}

/** A tab of our own: those inside of texts become blanks. */
export const TAB: unique symbol = Symbol("tab");

/**
 * One line, without its end. Its texts may be anybody's: whoever writes it makes them safe, and
 * their line breaks become blanks.
 */
export type Line = string | readonly (string | Styled | typeof TAB)[];

/** Where a command writes; nothing that it is given can do anything to a terminal. */
export interface Output {
  /** Writes lines of data to stdout. */
  readonly out: (lines: readonly Line[]) => void;
  /** Writes a line of talk to stderr. */
  readonly say: (line: Line) => void;
  /** Draws a line of stderr anew in place, or wipes it; absent where nothing can be redrawn. */
  readonly draw?: (line: Line | undefined) => void;
}

/** The world a command line runs in; a test may pass its own. */
export interface Io extends Output {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
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

/** The system this runs on, as far as conventions differ. */
export const platform = (): Platform => {
  const { os } = Deno.build;
  return os === "windows" || os === "darwin" ? os : "linux";
};
