import type { Io } from "./io.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Most waits end before this, and then nothing is drawn. */
const DELAY_MS = 300;

/** Draws a spinner on a terminal until it is disposed, and then erases it. */
export const spinner = (
  { draw }: Pick<Io, "draw">,
  text: string | (() => string),
): Disposable => {
  if (!draw) return { [Symbol.dispose]() {} };
  let frame = 0;
  let interval: ReturnType<typeof setInterval> | undefined;
  const next = () =>
    draw(`${FRAMES[frame++ % FRAMES.length]} ${typeof text === "string" ? text : text()}`);
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

/** Waits for a promise and shows a spinner meanwhile. */
export const whileSpinning = async <T>(
  io: Pick<Io, "draw">,
  text: string,
  promise: Promise<T>,
): Promise<T> => {
  using _ = spinner(io, text);
  return await promise;
};
