import assert from "node:assert/strict";
import { VERSION } from "./version.ts";

Deno.test("VERSION is the semantic version in deno.json", async () => {
  const project = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
  assert.equal(VERSION, project.version);
  assert.match(VERSION, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
});
