import assert from "node:assert/strict";
import fc from "fast-check";
import type { Identity } from "../../../common/api/wire.ts";
import { createSessionCodec, SealRejectedError } from "./session.ts";

const codec = await createSessionCodec({ sessionTtlMs: 60_000, now: () => new Date() });

/** Generates identities that always fit into a cookie. */
const text = fc.string({ unit: "grapheme", maxLength: 40 }).map((each) => each.toWellFormed());
const identity: fc.Arbitrary<Identity> = fc.record({
  subject: text.filter((each) => each !== ""),
  displayName: text,
  groups: fc.array(text, { minLength: 1, maxLength: 5 }),
}, { requiredKeys: ["subject"], noNullPrototype: true });
const login = fc.record({ state: text, nonce: text, codeVerifier: text, redirect: text }, {
  noNullPrototype: true,
});

const rejected = (opening: Promise<unknown>) => assert.rejects(opening, SealRejectedError);

Deno.test("openSession() returns any identity that sealSession() got", async () => {
  await fc.assert(
    fc.asyncProperty(identity, async (given) => {
      assert.deepEqual(await codec.openSession(await codec.sealSession(given)), given);
    }),
  );
});

Deno.test("openLogin() returns any login state that sealLogin() got", async () => {
  await fc.assert(
    fc.asyncProperty(login, async (given) => {
      assert.deepEqual(await codec.openLogin(await codec.sealLogin(given)), given);
    }),
  );
});

Deno.test("openSession() rejects every text except the issued one", async () => {
  const given: Identity = { subject: "https://idp.example#ada" };
  const sealed = await codec.sealSession(given);
  const edit = fc.tuple(fc.nat(sealed.length), fc.nat(20), fc.string({ maxLength: 20 }));
  await fc.assert(
    fc.asyncProperty(edit, async ([at, cut, inserted]) => {
      const edited = sealed.slice(0, at) + inserted + sealed.slice(at + cut);
      if (edited === sealed) return;
      await rejected(codec.openSession(edited));
      await rejected(codec.openLogin(edited));
    }),
    { numRuns: 500 },
  );
  assert.deepEqual(await codec.openSession(sealed), given);
});

Deno.test("two sessions of one identity have only their header in common", async () => {
  await fc.assert(
    fc.asyncProperty(identity, async (given) => {
      const [a = "", b = ""] = await Promise.all([
        codec.sealSession(given),
        codec.sealSession(given),
      ]);
      assert.notEqual(a, b);
      const [bodyOfA, bodyOfB] = [a, b].map((token) => token.split(".")[3]);
      assert.notEqual(bodyOfA, bodyOfB);
    }),
  );
});
