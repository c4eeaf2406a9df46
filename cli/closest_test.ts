import assert from "node:assert/strict";
import { closest } from "./closest.ts";

Deno.test("closest() finds the intended word, and no distant one", () => {
  const names = ["catalog", "clusters", "connect", "export", "login", "logout"];
  const guesses: [word: string, meant: string | undefined][] = [
    ["catlog", "catalog"],
    ["cataolg", "catalog"],
    ["CATALOG", "catalog"],
    ["cluster", "clusters"],
    ["cat", "catalog"],
    ["loign", "login"],
    ["exports", "export"],
    ["x", undefined],
    ["", undefined],
    ["widgets", undefined],
  ];
  for (const [word, meant] of guesses) assert.equal(closest(word, names), meant, word);
  assert.equal(closest("pg", ["pg"]), "pg");
  assert.equal(closest("pg", []), undefined);
});
