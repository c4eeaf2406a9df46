/** Set by `deno task test:soak` to make some tests longer. */
export const SOAK_VARIABLE = "XBIND_SOAK";

/** Chooses the value for everyday runs or for `deno task test:soak`. */
export const everyDayOrSoak = <T>(everyDay: T, soak: T): T =>
  Deno.env.has(SOAK_VARIABLE) ? soak : everyDay;
