import assert from "node:assert/strict";
import { Buffer } from "node:buffer";

/** Every way in which a secret could be written down, by intent or by accident. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64").replace(/=+$/, "");
  return [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      base64,
      bytes.toString("base64url"),
      bytes.toString("hex"),
    ]),
  ];
}

/** Secrets that were planted, and places where none of them may show. */
export class SecretSearch {
  readonly #secrets = new Map<string, string>();
  readonly #places = new Map<string, string>();

  /** Remembers a secret; the parts of a token count too, as each of them is worth hiding. */
  plant(name: string, secret: string | undefined): void {
    assert.ok(secret !== undefined && secret.length >= 8, `${name} is too short to search for`);
    this.#secrets.set(name, secret);
    const last = secret.split(".").at(-1) ?? "";
    if (last !== secret && last.length >= 16) this.#secrets.set(`the end of ${name}`, last);
  }

  /** How many are known. */
  get size(): number {
    return this.#secrets.size;
  }

  /** Remembers a place. */
  look(name: string, text: string): void {
    this.#places.set(name, `${this.#places.get(name) ?? ""}\n${text}`);
  }

  /** Fails when a place holds a secret, or when one of the places was never filled. */
  assertNothingFound(places: readonly string[]): void {
    assert.deepEqual([...this.#places.keys()].sort(), [...places].sort());
    for (const [place, text] of this.#places) {
      assert.ok(text.trim().length > 0, `${place} is empty`);
      for (const [name, secret] of this.#secrets) {
        for (const form of formsOf(secret)) {
          const at = text.indexOf(form);
          assert.ok(at < 0, `${place} holds ${name}: …${text.slice(Math.max(0, at - 200), at)}…`);
        }
      }
    }
  }
}
