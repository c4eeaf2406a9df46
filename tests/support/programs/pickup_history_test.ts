import assert from "node:assert/strict";
import { type BindRecord, type DeliveryRecord, impossibilities } from "./pickup_history.ts";

const bind = (token: string, startedAt: number, edit: Partial<BindRecord> = {}): BindRecord => ({
  grant: "g",
  token,
  startedAt,
  endedAt: startedAt + 10,
  expiresAt: startedAt + 1_000,
  ...edit,
});
const delivery = (token: string, startedAt: number): DeliveryRecord => ({
  token,
  startedAt,
  endedAt: startedAt + 10,
});

Deno.test("impossibilities() lists only violations of the pickup rules", async (t) => {
  const CASES: [name: string, BindRecord[], DeliveryRecord[], found: RegExp[]][] = [
    ["a bind and its pickup", [bind("a", 0)], [delivery("a", 20)], []],
    ["a pickup until the last moment", [bind("a", 0)], [delivery("a", 1_000)], []],
    ["no binds and no pickups", [], [], []],
    ["two deliveries", [bind("a", 0)], [delivery("a", 20), delivery("a", 25)], [/twice/]],
    ["an unknown token", [bind("a", 0)], [delivery("b", 20)], [/never issued/]],
    ["an expired token", [bind("a", 0)], [delivery("a", 1_001)], [/expired/]],
    ["an older token", [bind("a", 0), bind("b", 20)], [delivery("a", 31)], [/replaced/]],
    ["the newer of two", [bind("a", 0), bind("b", 20)], [delivery("b", 31)], []],
    ["a pickup that overlaps a bind", [bind("a", 0), bind("b", 20)], [delivery("a", 29)], []],
    ["binds that overlap", [bind("a", 0), bind("b", 5)], [delivery("a", 31)], []],
    ["two Grants", [bind("a", 0), bind("b", 20, { grant: "h" })], [delivery("a", 31)], []],
  ];
  for (const [name, binds, deliveries, found] of CASES) {
    await t.step(name, () => {
      const actual = impossibilities({ binds, deliveries });
      assert.equal(actual.length, found.length, actual.join());
      found.forEach((wanted, index) => assert.match(actual[index] ?? "", wanted));
    });
  }
});
