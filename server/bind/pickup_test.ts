import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { stampFor } from "./grant.ts";
import {
  formatPickupToken,
  matchesPickupHash,
  newPickup,
  parsePickupToken,
  pickupClaim,
  pickupHash,
} from "./pickup.ts";

const SECRET = new Uint8Array(24).fill(255);
const GOOD = formatPickupToken("pg-0123456789abcdef0123", SECRET);
const encoded = (text: string) => Buffer.from(text).toString("base64url");
const SECRET_TEXT = "_".repeat(32);

Deno.test("formatPickupToken() needs no encoding in a URL", () => {
  assert.equal(GOOD, "cGctMDEyMzQ1Njc4OWFiY2RlZjAxMjM.________________________________");
});

Deno.test("parsePickupToken() reverses formatPickupToken()", () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]{1,20})?$/);
  const bytes = fc.uint8Array({ minLength: 24, maxLength: 24 });
  fc.assert(fc.property(name, bytes, (grant, secret) => {
    const parts = parsePickupToken(formatPickupToken(grant, secret));
    assert.deepEqual(parts, { grant, secret: Buffer.from(secret).toString("base64url") });
  }));
});

Deno.test("parsePickupToken() refuses everything else", () => {
  for (
    const token of [
      "",
      ".",
      "a",
      "undefined",
      GOOD.slice(0, -1),
      `${GOOD}_`,
      `${GOOD}=`,
      ` ${GOOD}`,
      `${GOOD}\n`,
      `${GOOD}.${SECRET_TEXT}`,
      `.${SECRET_TEXT}`,
      `${encoded("pg")}=.${SECRET_TEXT}`,
      `cGd.${SECRET_TEXT}`, // another encoding of "pg"
      `${encoded("Pg")}.${SECRET_TEXT}`,
      `${encoded("../secrets/x")}.${SECRET_TEXT}`,
      `${encoded("a/b")}.${SECRET_TEXT}`,
      `${encoded("a%2fb")}.${SECRET_TEXT}`,
      `${encoded("a\0b")}.${SECRET_TEXT}`,
      `${encoded("x".repeat(64))}.${SECRET_TEXT}`,
      `${encoded("pg")}.${"é".repeat(32)}`,
      `${encoded("pg")}.${"+".repeat(32)}`,
      `${Buffer.from([0xff, 0xfe]).toString("base64url")}.${SECRET_TEXT}`,
    ]
  ) assert.equal(parsePickupToken(token), undefined, JSON.stringify(token));
});

Deno.test("matchesPickupHash() recognizes the hash of a token's secret part", () => {
  assert.equal(
    pickupHash("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  assert.ok(matchesPickupHash("abc", pickupHash("abc")));
  for (const stored of [undefined, "", "abc", pickupHash("abd"), `${pickupHash("abc")}0`]) {
    assert.ok(!matchesPickupHash("abc", stored));
  }
});

const SUBJECT = "https://idp.example.org#ada";
const NOW = new Date("2030-01-01T00:00:00Z");
const name = "pg-ada";
const TTL_MS = 60_000;
const pickup = newPickup(name, TTL_MS);
const { token } = pickup;
const annotations = stampFor(pickup, NOW);

/** Reads the claim of a token while a Grant with this metadata exists, or none. */
function claim(metadata: Partial<Grant["metadata"]> | undefined, of = token, at = NOW) {
  const grant: Grant = {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name, ...metadata },
    spec: { identity: { subject: SUBJECT }, exportName: "pg", apis: [] },
  };
  const grants = { get: () => metadata ? grant : undefined };
  return pickupClaim({ caches: { grants }, now: () => at }, of);
}

Deno.test("pickupClaim() returns Grant and subject of a good token", () => {
  assert.deepEqual(claim({ annotations }), { grant: name, subject: SUBJECT });
});

Deno.test("pickupClaim() returns nothing for a malformed token", () => {
  for (const malformed of ["", "x", `${token}=`]) assert.equal(claim({}, malformed), undefined);
});

Deno.test("pickupClaim() treats all other tokens as guesses", () => {
  const other = newPickup(name, TTL_MS).token;
  const later = new Date(NOW.getTime() + TTL_MS);
  const consumed = { ...annotations, [ANNOTATIONS.pickupConsumed]: NOW.toISOString() };
  const guesses = [
    claim(undefined),
    claim({}),
    claim({ annotations }, other),
    claim({ annotations }, token, later),
    claim({ annotations: consumed }),
    claim({ annotations, deletionTimestamp: NOW.toISOString() }),
  ];
  for (const guess of guesses) assert.deepEqual(guess, { grant: name });
});
