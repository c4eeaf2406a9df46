import type { Io } from "./io.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Most waits are over before anybody looks. */
const DELAY_MS = 300;
const ERASE_LINE = "\r\u001b[K";

/** Shows on a terminal that something takes time; nothing is left of it when it is disposed. */
export const spinner = (
  io: Pick<Io, "draw" | "env" | "isTerminal">,
  text: string,
): Disposable => {
  const { draw } = io;
  if (!draw || !io.isTerminal.stderr || io.env.TERM === "dumb") return { [Symbol.dispose]() {} };
  let frame = 0;
  let interval: ReturnType<typeof setInterval> | undefined;
  const next = () => draw(`${ERASE_LINE}${FRAMES[frame++ % FRAMES.length]} ${text}`);
  const delay = setTimeout(() => {
    next();
    interval = setInterval(next, FRAME_MS);
  }, DELAY_MS);
  return {
    [Symbol.dispose]() {
      clearTimeout(delay);
      clearInterval(interval);
      if (frame > 0) draw(ERASE_LINE);
    },
  };
};

/** Waits for a promise, with a spinner before the eyes of whoever waits too. */
export const whileSpinning = async <T>(
  io: Pick<Io, "draw" | "env" | "isTerminal">,
  text: string,
  promise: Promise<T>,
): Promise<T> => {
  using _ = spinner(io, text);
  return await promise;
};
