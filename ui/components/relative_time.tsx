import { useNow } from "../hooks/use_now.ts";
import { relativeTime } from "../logic/relative_time.ts";

const TICK_MS = 5_000;

/** Shows how long ago a time was, with the exact time on hover. */
export function RelativeTime({ time }: { time: string }) {
  const nowMs = useNow(TICK_MS);
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  return (
    <time datetime={date.toISOString()} title={date.toLocaleString()}>
      {relativeTime(time, nowMs)}
    </time>
  );
}
