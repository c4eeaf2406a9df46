import assert from "node:assert/strict";
import {
  DAMAGED_CERTIFICATE,
  HARMLESS_SERVERS,
  ODD_SERVERS,
  OddAuthority,
} from "../../tests/support/peers/odd_tls.ts";
import { dialTo } from "./dial.ts";
import type { TlsOptions } from "./start_tls.ts";

const authority = await OddAuthority.create();

/** Collects errors that no code could catch. */
const uncaught: unknown[] = [];
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  uncaught.push(event.error);
});

const connectTo = async (port: number, secure: Partial<TlsOptions>): Promise<void> => {
  const dial = dialTo({ base: new URL(`https://127.0.0.1:${port}`), secure });
  (await dial(AbortSignal.timeout(5_000))).destroy();
};

Deno.test("startTls() rejects untrusted servers with an ordinary error", async (t) => {
  for (const [name, start] of Object.entries(ODD_SERVERS)) {
    await t.step(name, async () => {
      await using server = await start(authority);
      await assert.rejects(connectTo(server.port, { ca: authority.cert }), (error: Error) => {
        assert.notEqual(error.name, "TimeoutError");
        return true;
      });
      assert.deepEqual(uncaught.splice(0), []);
    });
  }
});

Deno.test("startTls() connects to servers with harmless oddities", async (t) => {
  for (const [name, start] of Object.entries(HARMLESS_SERVERS)) {
    await t.step(name, async () => {
      await using server = await start(authority);
      await connectTo(server.port, { ca: authority.cert });
      assert.deepEqual(uncaught.splice(0), []);
    });
  }
});

Deno.test("startTls() verifies the given name", async (t) => {
  const start = HARMLESS_SERVERS["an ordinary leaf"];
  assert.ok(start);
  await using server = await start(authority);
  const as = (serverName: string) => connectTo(server.port, { ca: authority.cert, serverName });
  await t.step("an IP address in the certificate", () => as("127.0.0.1"));
  for (const name of ["1.2.3.4", "::1", "localhost", "1.2.3", "a..b", "x".repeat(300)]) {
    await t.step(`refuses ${name.slice(0, 20)}`, () => assert.rejects(as(name)));
  }
  assert.deepEqual(uncaught.splice(0), []);
});

Deno.test("startTls() survives a damaged CA certificate", async () => {
  await using server = await HARMLESS_SERVERS["an ordinary leaf"]!(authority);
  const ca = authority.cert + DAMAGED_CERTIFICATE;
  await assert.rejects(connectTo(server.port, { ca }), /certificates cannot be read/);
  assert.deepEqual(uncaught.splice(0), []);
});
