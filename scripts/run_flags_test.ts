import assert from "node:assert/strict";
import project from "../deno.json" with { type: "json" };
import { CLI_RUN_FLAGS, DAEMON_RUN_FLAGS } from "./run_flags.ts";

const granted = (flags: readonly string[]) =>
  flags.filter((flag) => flag.startsWith("--allow")).join(" ");

Deno.test("DAEMON_RUN_FLAGS never lets backend or konnector start processes, write files or load libraries", () => {
  assert.equal(
    granted(DAEMON_RUN_FLAGS),
    "--allow-net --allow-read --allow-env --allow-sys=hostname,ca",
  );
});

Deno.test("deno task start and dev run the backend with DAEMON_RUN_FLAGS", () => {
  const { start, dev } = project.tasks;
  const flags = DAEMON_RUN_FLAGS.join(" ");
  assert.equal(start.command, `deno task --quiet ui && deno run ${flags} server/main.ts`);
  assert.equal(dev.command, start.command.replace("deno run", "deno run --watch"));
});

Deno.test("CLI_RUN_FLAGS never lets the client load libraries, and names what it may learn of the system", () => {
  assert.equal(
    granted(CLI_RUN_FLAGS),
    "--allow-net --allow-read --allow-write --allow-env --allow-sys=hostname,ca --allow-run",
  );
});
