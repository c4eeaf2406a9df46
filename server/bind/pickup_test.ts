import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { newPickup, pickupClaim } from "./pickup.ts";

const SUBJECT = "https://idp.example.org#ada";
const NOW = new Date("2030-01-01T00:00:00Z");
const name = "pg-ada";
const now = () => NOW;
const config = { pickupTtlMs: 60_000 };
const { token, annotations } = newPickup({ config, now }, name);

/** What is known of the token beside a Grant with this metadata, or none. */
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

Deno.test("pickupClaim() tells whose a good token is", () => {
  assert.deepEqual(claim({ annotations }), { grant: name, subject: SUBJECT });
});

Deno.test("pickupClaim() tells nothing of a malformed token", () => {
  for (const malformed of ["", "x", `${token}=`]) assert.equal(claim({}, malformed), undefined);
});

Deno.test("pickupClaim() takes all other tokens for guesses", () => {
  const other = newPickup({ config, now }, name).token;
  const later = new Date(NOW.getTime() + config.pickupTtlMs);
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
