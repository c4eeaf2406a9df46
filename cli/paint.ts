import type { Io } from "./io.ts";

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] };

/** Colours text, or leaves it as it is. */
export type Paint = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

/** Colours for stdout or stderr: none where nobody sees them, or where `NO_COLOR` is set. */
export const paint = (io: Pick<Io, "env" | "isTerminal">, to: "stdout" | "stderr"): Paint => {
  const isPlain = !io.isTerminal[to] || Boolean(io.env.NO_COLOR) || io.env.TERM === "dumb";
  const colour = ([on = 0, off = 0]: readonly number[]) => (text: string) =>
    isPlain ? text : `\u001b[${on}m${text}\u001b[${off}m`;
  return {
    bold: colour(CODES.bold),
    dim: colour(CODES.dim),
    red: colour(CODES.red),
    green: colour(CODES.green),
    yellow: colour(CODES.yellow),
  };
};
