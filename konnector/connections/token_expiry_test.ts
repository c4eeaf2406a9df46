import assert from "node:assert/strict";
import { expiryNote, expiryOf, nextLookMs } from "./token_expiry.ts";

const DAY_S = 86_400;
const START_S = 1_800_000_000;
const at = (seconds: number) => new Date(seconds * 1_000);

const tokenOf = (claims: unknown) =>
  `h.${btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_")}.s`;
const expiryOfToken = (token: string) =>
  expiryOf({ auth: { kind: "token", token: { data: token } } });

Deno.test("expiryOf() reads the times of a JWT", async (t) => {
  const cases: readonly [string, unknown, number][] = [
    ["a year: a week before", { iat: START_S, exp: START_S + 365 * DAY_S }, 7 * DAY_S],
    ["ten hours: two before", { iat: START_S, exp: START_S + 36_000 }, 7_200],
    ["no beginning: a week before", { exp: START_S + DAY_S }, 7 * DAY_S],
    ["a beginning after its end", { iat: START_S + 9 * DAY_S, exp: START_S }, 7 * DAY_S],
  ];
  for (const [name, claims, warningS] of cases) {
    await t.step(name, () => {
      const expiry = expiryOfToken(tokenOf(claims));
      const { exp } = claims as { exp: number };
      assert.deepEqual(expiry, { endsAtMs: exp * 1_000, warnsAtMs: (exp - warningS) * 1_000 });
    });
  }
});

Deno.test("expiryOf() ignores what is not a JWT with an end", () => {
  const tokens = ["", "opaque", "a.b.c", tokenOf({ iat: START_S }), tokenOf(null), tokenOf([1])];
  const ends = ["soon", -1, 1e300, {}].map((exp) => tokenOf({ exp }));
  const long = tokenOf({ exp: START_S, padding: "x".repeat(20_000) });
  for (const token of [...tokens, ...ends, long]) assert.equal(expiryOfToken(token), undefined);
  assert.equal(expiryOf({ auth: { kind: "none" } }), undefined);
});

Deno.test("expiryNote() warns before and after the end, and nextLookMs() leads there", () => {
  const expiry = { warnsAtMs: (START_S - DAY_S / 2) * 1_000, endsAtMs: START_S * 1_000 };
  assert.equal(expiryNote(expiry, at(START_S - DAY_S)), undefined);
  assert.equal(nextLookMs(expiry, at(START_S - DAY_S)), (DAY_S / 2 + 1) * 1_000);
  assert.match(expiryNote(expiry, at(START_S - 60)) ?? "", /expires at 2027-01-15T08:00:00Z; bind/);
  assert.equal(nextLookMs(expiry, at(START_S - 60)), 61_000);
  assert.match(expiryNote(expiry, at(START_S)) ?? "", /expired at/);
  assert.equal(nextLookMs(expiry, at(START_S)), undefined);
  assert.equal(nextLookMs(expiry, at(START_S - 30 * DAY_S)), DAY_S * 1_000);
});
