// Subscriptions of hooks are made in layout effects: plain effects run with the next frame, even
// for a component that is gone by then, and not at all in a hidden tab.

/** Whether somebody can see the page. */
export const isVisible = (): boolean => document.visibilityState === "visible";

/** Runs something later; the result prevents it. */
export const after = (ms: number, run: () => void): () => void => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};
