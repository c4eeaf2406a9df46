import assert from "node:assert/strict";
import { flagHelp } from "../common/flags/flag_help.ts";
import { konnectorManifest } from "../common/consumer/konnector_manifest.ts";
import type { Deployment } from "../common/api/resources.ts";
import { parseConfig, PROGRAM } from "./config.ts";
import { FLAG_GROUPS, FLAGS } from "./flag_table.ts";

Deno.test("FLAG_GROUPS and FLAGS of the konnector have the same flags", () => {
  const grouped = Object.values(FLAG_GROUPS).flatMap((table) => Object.keys(table));
  assert.deepEqual(grouped.sort(), Object.keys(FLAGS).sort());
});

Deno.test("flagHelp() of the konnector fits into 100 columns and has every flag", () => {
  const help = flagHelp(PROGRAM, FLAG_GROUPS);
  for (const line of help.split("\n")) assert.ok(line.length <= 100, line);
  for (const name of Object.keys(FLAGS)) assert.match(help, new RegExp(`^  --${name}(?: |$)`, "m"));
});

Deno.test("the konnector accepts the arguments of the install manifest", () => {
  const deployment = konnectorManifest("image").find(({ kind }) => kind === "Deployment");
  const [container] = (deployment as Deployment).spec?.template.spec?.containers ?? [];
  assert.ok(container?.args && container.args.length > 0);
  const invocation = parseConfig(container.args, {});
  assert.ok(invocation.kind === "run");
  const byDefault = parseConfig([], {});
  assert.deepEqual(invocation, byDefault);
});
