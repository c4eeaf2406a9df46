import type { Child } from "hono/jsx";
import { useLayoutEffect, useRef } from "hono/jsx/dom";

/** The heading of a step; it takes the focus, which would be lost with the step before. */
export function StepHeading({ children }: { children?: Child }) {
  const heading = useRef<HTMLHeadingElement | null>(null);
  // When effects run, a new element may not be in the document yet.
  useLayoutEffect(() => queueMicrotask(() => heading.current?.focus()), []);
  return <h3 ref={heading} class="step-heading" tabindex={-1}>{children}</h3>;
}
