import assert from "node:assert/strict";

const PROGRAM = new URL("../../support/faults/refused_calls.ts", import.meta.url).pathname;

/** Deno itself leaks 17 kB for each TLS connection that is refused before the handshake. */
const MOST_BYTES = 2_000;

Deno.test("refused calls leak no memory", async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", "--v8-flags=--expose-gc", PROGRAM],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  for (const [peer, bytes] of Object.entries(JSON.parse(new TextDecoder().decode(stdout)))) {
    assert.ok(Number(bytes) < MOST_BYTES, `${bytes} bytes for each refused call to ${peer}`);
  }
});
