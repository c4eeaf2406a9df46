import type { Child } from "hono/jsx";
import { Notice } from "./notice.tsx";
import { RelativeTime } from "./relative_time.tsx";

/** Shows grey shapes while data is loading. */
export function Skeleton({ label, rows, shape }: { label: string; rows: number; shape: string }) {
  return (
    <div class={`skeleton ${shape}`} role="status" aria-label={label}>
      {Array.from(
        { length: rows },
        (_each, index) => (
          <div key={String(index)} class="skeleton-item" aria-hidden="true">
            <div class="skeleton-line skeleton-short" />
            <div class="skeleton-line" />
            <div class="skeleton-line" />
          </div>
        ),
      )}
    </div>
  );
}

/** Says that a list is empty, and how to change that. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Says why data could not be loaded, and offers a retry. */
export function LoadFailure(
  { what, error, onRetry }: { what: string; error: string; onRetry: () => void },
) {
  return (
    <Notice tone="danger" role="alert" title={`Cannot load ${what}`}>
      <p dir="auto">{error}</p>
      <button type="button" class="button" onClick={onRetry}>Try again</button>
    </Notice>
  );
}

/** Says that the shown data could not be updated. */
export function StaleNotice(
  { error, sinceMs, onRetry }: { error: string; sinceMs: number | undefined; onRetry: () => void },
) {
  return (
    <Notice tone="warning" role="status" title="This may be out of date">
      <p>
        {error}. Last updated{" "}
        {sinceMs === undefined
          ? "before"
          : <RelativeTime time={new Date(sinceMs).toISOString()} />}.
      </p>
      <button type="button" class="button" onClick={onRetry}>Try again</button>
    </Notice>
  );
}
