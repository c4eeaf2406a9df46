import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";

/** A list that is drawn as far as anybody has scrolled. */
export interface Growing {
  /** How many rows to draw. */
  readonly limit: number;
  readonly more: () => void;
  /** For the element behind the last row. */
  readonly endRef: { current: HTMLElement | null };
}

/** After so many steps only the button shows more: whoever scrolls that far rather searches. */
const STEPS_BY_ITSELF = 15;

/** Starts with `step` rows for each key, and grows when the end comes near. */
export function useGrowing(key: string, step: number): Growing {
  const [grown, setGrown] = useState({ key, limit: step });
  const limit = grown.key === key ? grown.limit : step;
  const endRef = useRef<HTMLElement | null>(null);
  const grow = (rows: number) => setGrown({ key, limit: limit + rows });
  const more = () => grow(step * 4);
  useLayoutEffect(() => {
    const end = endRef.current;
    if (!end || limit >= step * STEPS_BY_ITSELF) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) grow(step);
    }, { rootMargin: "800px" });
    observer.observe(end);
    return () => observer.disconnect();
  });
  return { limit, more, endRef };
}
