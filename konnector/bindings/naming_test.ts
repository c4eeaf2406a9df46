import assert from "node:assert/strict";
import { leftoversNote, stayingNote } from "./naming.ts";

Deno.test("stayingNote() counts all copies, and names some", () => {
  const objects = Array.from({ length: 12 }, (_, index) => `as.g.org n/o${index}`);
  const note = stayingNote(objects);
  assert.match(note, /12 objects/);
  assert.match(note, /as\.g\.org n\/o0, .* n\/o9 and 2 more$/);
  assert.match(stayingNote([], ["related secrets"]), /0 objects .* copies: related secrets$/);
  assert.match(stayingNote(["a"], ["related secrets"]), /copies: related secrets, a$/);
});

Deno.test("leftoversNote() says what became of the copies", () => {
  assert.match(
    leftoversNote("as.g.org", ["n/a"], false),
    /1 copies of as\.g\.org .* left alone: n\/a$/,
  );
  assert.match(leftoversNote("as.g.org", ["n/a", "n/b"], true), /were deleted: n\/a, n\/b$/);
});
