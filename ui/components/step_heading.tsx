import type { Child } from "hono/jsx";
import { useLayoutEffect, useRef } from "hono/jsx/dom";

/** Shows the heading of a step and focuses it, because what had the focus is gone. */
export function StepHeading({ children }: { children?: Child }) {
  const heading = useRef<HTMLHeadingElement | null>(null);
  // A new element may not be in the document yet when effects run.
  useLayoutEffect(() => queueMicrotask(() => heading.current?.focus()), []);
  return <h3 ref={heading} class="step-heading" tabindex={-1}>{children}</h3>;
}
