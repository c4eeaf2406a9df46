import type { BoundState } from "../logic/bound_exports.ts";

const WORDS: Record<BoundState, string> = {
  live: "live",
  silent: "silent",
  pending: "never connected",
};

/** Shows that the user has bound a service, and the state of the binding. */
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
