import { CliError } from "../cli_error.ts";

/** One finding of `doctor`. */
export interface Check {
  readonly check: string;
  /** `skipped`: another check failed that this one needs. `warning`: it works, but not for all. */
  readonly status: "ok" | "failed" | "warning" | "skipped";
  readonly detail: string;
  readonly remedy?: string;
  /** Objects that an administrator would apply. */
  readonly manifests?: readonly object[];
}

/** A check that passed. */
export const ok = (check: string, detail: string): Check => ({
  check,
  status: "ok",
  detail,
});

/** A check that failed, with the remedy. */
export const failed = (check: string, detail: string, remedy: string): Check => ({
  check,
  status: "failed",
  detail,
  remedy,
});

/** A check that passed, but found something to look at. */
export const warning = (check: string, detail: string, remedy: string): Check => ({
  check,
  status: "warning",
  detail,
  remedy,
});

/** A check that could not run. */
export const skipped = (check: string, detail: string): Check => ({
  check,
  status: "skipped",
  detail,
});

/** Runs a check; a `CliError` becomes a failed check. */
export async function checked(check: string, look: () => Promise<Check | string>): Promise<Check> {
  const [first] = await checkedAll(check, async () => {
    const found = await look();
    return [typeof found === "string" ? ok(check, found) : found];
  });
  return first as Check;
}

/** Runs a check that may find several things; a `CliError` becomes a failed check. */
export async function checkedAll(check: string, look: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [failed(check, error.message, error.remedy ?? "Run the command again")];
  }
}

/** With a larger difference, tokens and certificates seem not yet valid or expired. */
const MAX_SKEW_MS = 60_000;

/** Compares a server's clock with ours. */
export function checkClock(
  check: string,
  clock: { readonly server: Date; readonly ours: Date } | undefined,
): Check {
  if (!clock) return skipped(check, "the server does not send its time");
  const skewMs = clock.server.getTime() - clock.ours.getTime();
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return ok(check, `it differs from ours by ${seconds} s`);
  const way = skewMs > 0 ? "ahead of" : "behind";
  return failed(check, `it is ${seconds} s ${way} ours`, "Correct the clock that is wrong");
}
