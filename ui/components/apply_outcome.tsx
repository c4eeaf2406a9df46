import { useLayoutEffect, useRef } from "hono/jsx/dom";
import { Notice } from "./notice.tsx";
import { StepHeading } from "./step_heading.tsx";

/** Shows the progress while the gateway applies. */
export const Applying = () => (
  <div role="status">
    <progress class="progress" aria-label="Applying" />
    <p class="muted">Applying to your cluster. This can take up to a minute.</p>
  </div>
);

/** Explains why not all objects were applied, and scrolls itself into view. */
export function NotApplied({ message, isPartial }: { message: string; isPartial: boolean }) {
  const box = useRef<HTMLElement | null>(null);
  useLayoutEffect(
    () => queueMicrotask(() => box.current?.scrollIntoView({ block: "nearest" })),
    [message],
  );
  return (
    <div ref={box} class="outcome">
      <Notice tone="danger" role="alert" title="Not applied">
        <p dir="auto">{message}</p>
        {isPartial
          ? <p>Objects that were applied before the failure stay; applying again is safe.</p>
          : null}
      </Notice>
    </div>
  );
}

/** Lists the applied objects, in order. */
export function Applied(
  { applied, context, onAgain }: {
    applied: readonly string[];
    /** May be empty. */
    context: string;
    onAgain: () => void;
  },
) {
  const objects = applied.length === 1 ? "1 object" : `${applied.length} objects`;
  return (
    <>
      <StepHeading>
        {context ? `Applied ${objects} to ${context}` : `Applied ${objects}`}
      </StepHeading>
      <Notice tone="good">
        <ul class="applied" role="list" aria-label="Applied objects">
          {applied.map((each, index) => <li key={String(index)} dir="ltr">{each}</li>)}
        </ul>
      </Notice>
      <button type="button" class="button" onClick={onAgain}>Apply to another cluster</button>
    </>
  );
}
