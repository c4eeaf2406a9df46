/** Set by `deno task test:soak`: tests that can be more thorough than every day, are. */
export const SOAK_VARIABLE = "XBIND_SOAK";

/** What a test uses every day, or what `deno task test:soak` gives it time for. */
export const everyDayOrSoak = <T>(everyDay: T, soak: T): T =>
  Deno.env.has(SOAK_VARIABLE) ? soak : everyDay;
