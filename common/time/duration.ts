const NANOS_PER_UNIT: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "µs": 1_000n, // U+00B5, the micro sign
  "μs": 1_000n, // U+03BC, the Greek letter
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const NANOS_PER_MS = 1_000_000n;
const MAX_NANOS = 2n ** 63n - 1n; // the largest Go duration; a Date holds it, too

const WHOLE = /^([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const PART = /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g;

/** Parses a Go duration such as `300ms`, `1h30m` or `1.5h` to ms; undefined if invalid. */
export const parseDuration = (text: string): number | undefined => {
  if (/^[-+]?0$/.test(text)) return 0;
  const whole = WHOLE.exec(text);
  if (!whole) return undefined;
  const [, sign, parts = ""] = whole;
  let nanos = 0n;
  for (const [, integer = "", fraction = "", unit = ""] of parts.matchAll(PART)) {
    const unitNanos = NANOS_PER_UNIT[unit] ?? 0n;
    nanos += BigInt(integer || "0") * unitNanos;
    nanos += BigInt(fraction || "0") * unitNanos / 10n ** BigInt(fraction.length);
    if (nanos > MAX_NANOS) return undefined;
  }
  const ms = Number(decimal(nanos, NANOS_PER_MS)); // adding two numbers would round twice
  return sign === "-" && ms !== 0 ? -ms : ms;
};

/** Formats milliseconds as Go prints a duration: `1h30m0s`, `1.5s`, `300ms`, `0s`. */
export const formatDuration = (ms: number): string => {
  const sign = ms < 0 ? "-" : "";
  const wholeMs = Math.trunc(Math.abs(ms));
  const nanos = BigInt(wholeMs) * NANOS_PER_MS +
    BigInt(Math.round((Math.abs(ms) - wholeMs) * 1e6));
  if (nanos === 0n) return "0s";
  for (
    const [unit, below] of [["ns", 1_000n], ["µs", 1_000_000n], ["ms", 1_000_000_000n]] as const
  ) {
    if (nanos < below) return sign + decimal(nanos, NANOS_PER_UNIT[unit] ?? 1n) + unit;
  }
  const minutes = nanos / 60_000_000_000n;
  const seconds = decimal(nanos % 60_000_000_000n, 1_000_000_000n) + "s";
  if (minutes === 0n) return sign + seconds;
  const hours = minutes / 60n;
  return `${sign}${hours > 0n ? `${hours}h` : ""}${minutes % 60n}m${seconds}`;
};

const decimal = (nanos: bigint, unitNanos: bigint): string => {
  const digits = String(unitNanos).length - 1;
  const fraction = String(nanos % unitNanos).padStart(digits, "0").replace(/0+$/, "");
  return fraction && digits > 0 ? `${nanos / unitNanos}.${fraction}` : `${nanos / unitNanos}`;
};
