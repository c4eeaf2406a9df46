/** The styles of text on a terminal. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow";

/** Text in a style, which is dropped where colours are off. */
export interface Styled {
  readonly text: string;
  readonly style: Style;
}

/** A tab that is kept; tabs inside a text become blanks. */
export const TAB: unique symbol = Symbol("tab");

/**
 * One line, without its end. Its texts may come from strangers: `createOutput` makes them safe, and
 * turns their line breaks into blanks.
 */
export type Line = string | readonly (string | Styled | typeof TAB)[];

/** The output of a command; no text can control the terminal. */
export interface Output {
  /** Writes lines of data to stdout. */
  readonly out: (lines: readonly Line[]) => void;
  /** Writes a message to stderr. */
  readonly say: (line: Line) => void;
  /** Redraws or erases the last line of stderr; absent where stderr is no terminal. */
  readonly draw?: (line: Line | undefined) => void;
}

/** The environment of a command; tests pass their own. */
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

/** The further needs of a login. */
export interface LoginIo extends Io {
  readonly platform: Platform;
  /** Lines typed or piped into stdin, until its end. */
  readonly lines: (signal: AbortSignal) => AsyncIterable<string>;
  /** Opens the URL in a browser; false when no browser could be started. */
  readonly openBrowser: (url: string) => Promise<boolean>;
}

/** The systems with conventions of their own; all others follow Linux. */
export type Platform = "linux" | "darwin" | "windows";

/** Finds the system that this process runs on. */
export const platform = (): Platform => {
  const { os } = Deno.build;
  return os === "windows" || os === "darwin" ? os : "linux";
};
