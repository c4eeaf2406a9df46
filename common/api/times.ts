const LAST_RFC3339_MS = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Formats a time as RFC 3339 in UTC, cut to whole seconds as Kubernetes does. */
export const rfc3339 = (ms: number): string =>
  new Date(Math.min(ms, LAST_RFC3339_MS)).toISOString().replace(/\.\d+Z$/, "Z");

/** Formats a time with microseconds, as Leases and Events want it. */
export const microTime = (time: Date): string => time.toISOString().replace("Z", "000Z");
