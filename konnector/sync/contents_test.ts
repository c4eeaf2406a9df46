import assert from "node:assert/strict";
import { Contents } from "./contents.ts";

const objectWith = (content: string | undefined, carried?: string) => ({ content, carried });

Deno.test("Contents keeps contents while there is room", () => {
  const contents = new Contents(10);
  const [first, second, third] = ["12345", "12345", "1"].map((text) => objectWith(text));
  assert.ok(first && second && third);
  [first, second, third].forEach((object) => contents.hold(object));
  assert.deepEqual([first.content, second.content, third.content], ["12345", "12345", undefined]);
});

Deno.test("Contents has room again for what was dropped, and drops once", () => {
  const contents = new Contents(10);
  for (let turn = 0; turn < 100; turn++) {
    const object = objectWith("12345678");
    contents.hold(object);
    assert.equal(object.content, "12345678");
    contents.drop(object);
    contents.drop(object);
    assert.equal(object.content, undefined);
  }
  const tooLong = objectWith("12345678901");
  contents.hold(tooLong);
  assert.equal(tooLong.content, undefined);
});

Deno.test("Contents bounds a list, whatever becomes of its objects", () => {
  const contents = new Contents(10);
  const listed = Array.from({ length: 5 }, () => objectWith("1234"));
  listed.forEach((object) => contents.trim(object));
  assert.equal(listed.filter(({ content }) => content !== undefined).length, 2);
});

Deno.test("Contents counts carried labels and annotations, and drops them with the content", () => {
  const contents = new Contents(10);
  const [first, second] = [objectWith("1234", "1234"), objectWith("12", "1")];
  contents.hold(first);
  contents.hold(second);
  assert.deepEqual([first.carried, second.content, second.carried], ["1234", undefined, undefined]);
  contents.drop(first);
  assert.equal(first.carried, undefined);
});
