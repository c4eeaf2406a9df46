import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";

/** Describes a list that shows more rows as the user scrolls. */
export interface Growing {
  /** Limits the number of rows to show. */
  readonly limit: number;
  readonly more: () => void;
  /** Refers to the element after the last row. */
  readonly endRef: { current: HTMLElement | null };
}

/** After this many steps only the button shows more, because a search is then more useful. */
const AUTOMATIC_STEPS = 15;

/** Starts with `step` rows for each key, and adds more when the end is nearly visible. */
export function useGrowing(key: string, step: number): Growing {
  const [grown, setGrown] = useState({ key, limit: step });
  const limit = grown.key === key ? grown.limit : step;
  const endRef = useRef<HTMLElement | null>(null);
  const grow = (rows: number) => setGrown({ key, limit: limit + rows });
  const more = () => grow(step * 4);
  useLayoutEffect(() => {
    const end = endRef.current;
    if (!end || limit >= step * AUTOMATIC_STEPS) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) grow(step);
    }, { rootMargin: "800px" });
    observer.observe(end);
    return () => observer.disconnect();
  });
  return { limit, more, endRef };
}
