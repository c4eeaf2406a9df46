import type { Io } from "./io.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Most waits are over before anybody looks. */
const DELAY_MS = 300;

/** Shows on a terminal that something takes time; nothing is left of it when it is disposed. */
export const spinner = (
  { draw }: Pick<Io, "draw">,
  text: string,
): Disposable => {
  if (!draw) return { [Symbol.dispose]() {} };
  let frame = 0;
  let interval: ReturnType<typeof setInterval> | undefined;
  const next = () => draw(`${FRAMES[frame++ % FRAMES.length]} ${text}`);
  const delay = setTimeout(() => {
    next();
    interval = setInterval(next, FRAME_MS);
  }, DELAY_MS);
  return {
    [Symbol.dispose]() {
      clearTimeout(delay);
      clearInterval(interval);
      if (frame > 0) draw(undefined);
    },
  };
};

/** Waits for a promise, with a spinner before the eyes of whoever waits too. */
export const whileSpinning = async <T>(
  io: Pick<Io, "draw">,
  text: string,
  promise: Promise<T>,
): Promise<T> => {
  using _ = spinner(io, text);
  return await promise;
};
