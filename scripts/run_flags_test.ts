import assert from "node:assert/strict";
import project from "../deno.json" with { type: "json" };
import { BACKEND_RUN_FLAGS, CLI_RUN_FLAGS } from "./run_flags.ts";

Deno.test("BACKEND_RUN_FLAGS never lets the backend start processes, write files or load libraries", () => {
  const granted = BACKEND_RUN_FLAGS.filter((flag) => flag.startsWith("--allow"));
  assert.deepEqual(granted, [
    "--allow-net",
    "--allow-read",
    "--allow-env",
    "--allow-sys=hostname,ca",
  ]);
});

Deno.test("deno task start and dev run the backend with BACKEND_RUN_FLAGS", () => {
  const { start, dev } = project.tasks;
  const flags = BACKEND_RUN_FLAGS.join(" ");
  assert.equal(start.command, `deno task --quiet ui && deno run ${flags} server/main.ts`);
  assert.equal(dev.command, start.command.replace("deno run", "deno run --watch"));
});

Deno.test("CLI_RUN_FLAGS never lets the client load libraries, and names what it may learn of the system", () => {
  const granted = CLI_RUN_FLAGS.filter((flag) => flag.startsWith("--allow"));
  assert.deepEqual(granted, [
    "--allow-net",
    "--allow-read",
    "--allow-write",
    "--allow-env",
    "--allow-sys=hostname,ca",
    "--allow-run",
  ]);
});
