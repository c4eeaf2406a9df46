// Hooks subscribe in layout effects. Plain effects run in the next frame, even if the component is
// gone by then, and never run in a hidden tab.

/** Returns whether the page is visible. */
export const isVisible = (): boolean => document.visibilityState === "visible";

/** Runs a function later; the returned function cancels it. */
export const after = (ms: number, run: () => void): () => void => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};
