const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Formats an age as kubectl does: `5s`, `3m20s`, `4h`, `2d3h`, `<unknown>`. */
export const age = (time: string | Date | undefined, now: Date): string => {
  const then = time === undefined ? NaN : new Date(time).getTime();
  if (Number.isNaN(then)) return "<unknown>";
  const seconds = Math.trunc((now.getTime() - then) / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds <= 0) return "0s";
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return inTwo(seconds, MINUTE, "m", 1, "s");
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return inTwo(seconds, HOUR, "h", MINUTE, "m");
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return inTwo(seconds, DAY, "d", HOUR, "h");
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return inTwo(seconds, YEAR, "y", DAY, "d");
  return `${Math.floor(seconds / YEAR)}y`;
};

const inTwo = (
  seconds: number,
  large: number,
  largeUnit: string,
  small: number,
  smallUnit: string,
): string => {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${largeUnit}${rest === 0 ? "" : `${rest}${smallUnit}`}`;
};
