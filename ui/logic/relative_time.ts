const STEPS: [limitMs: number, unitMs: number, unit: string][] = [
  [60_000, 1_000, "second"],
  [3_600_000, 60_000, "minute"],
  [86_400_000, 3_600_000, "hour"],
  [Infinity, 86_400_000, "day"],
];

/** Formats how long ago a time was, such as `3 minutes ago`; empty if the time is invalid. */
export function relativeTime(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  if (Number.isNaN(agoMs)) return "";
  if (agoMs < 5_000) return "just now"; // clocks differ, so a slightly future time is now
  const [, unitMs, unit] = STEPS.find(([limitMs]) => agoMs < limitMs) ??
    [0, 86_400_000, "day"];
  const count = Math.floor(agoMs / unitMs);
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}

/** Formats the remaining time, such as `4:05`; never below `0:00`. */
export function remainingTime(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  return hours > 0
    ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds % 60)}`
    : `${minutes}:${twoDigits(seconds % 60)}`;
}
