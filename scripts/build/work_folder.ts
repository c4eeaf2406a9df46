import { stopRuns } from "./run_deno.ts";

/** Exit code of a process that a signal ended, by the custom of shells. */
const INTERRUPTED = 130;

/**
 * Makes something in a new folder inside a directory, and removes the folder whatever happens,
 * Ctrl-C included: what is half done never shows.
 */
export async function inWorkFolder<Result>(
  dir: string,
  make: (folder: string) => Promise<Result>,
): Promise<Result> {
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  let isInterrupted = false;
  const onSignal = () => {
    isInterrupted = true;
    stopRuns(); // which ends what is being made
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  try {
    await Deno.mkdir(dir, { recursive: true });
    const folder = await Deno.makeTempDir({ dir, prefix: ".building-" });
    try {
      return await make(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, onSignal);
    if (isInterrupted) Deno.exit(INTERRUPTED);
  }
}
