import { type Deadline, deadline } from "../../common/time/deadline.ts";
import { formatDuration } from "../../common/time/duration.ts";
import { CliError } from "../cli_error.ts";

/** A signal that aborts, with the failure to tell, once `--timeout` has passed. */
export const timeLimit = (ms: number, parent: AbortSignal): Deadline =>
  deadline(
    ms,
    parent,
    new CliError(
      "timeout",
      `Gave up after ${formatDuration(ms)}`,
      "Run the command again, with a longer --timeout if need be: it is safe to repeat",
    ),
  );
