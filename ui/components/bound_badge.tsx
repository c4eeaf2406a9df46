import type { BoundState } from "../logic/bound_exports.ts";

const WORDS: Record<BoundState, string> = {
  live: "live",
  silent: "silent",
  pending: "never connected",
};

/** Tells that I have bound a service, and what became of it. */
export function BoundBadge({ state }: { state: BoundState }) {
  return (
    <span class={`badge badge-${state}`} title={`Bound, ${WORDS[state]}`}>
      <span class="dot" aria-hidden="true" />
      <span>
        Bound<span class="badge-detail">, {WORDS[state]}</span>
      </span>
    </span>
  );
}
