import assert from "node:assert/strict";
import { Buffer } from "node:buffer";

/** Returns all encodings in which a secret could leak. */
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

/** A search for planted secrets in places where they must not appear. */
export class SecretSearch {
  readonly #secrets = new Map<string, string>();
  readonly #places = new Map<string, string>();

  /** Adds a secret. The last part of a token is a secret, too. */
  plant(name: string, secret: string | undefined): void {
    assert.ok(secret !== undefined && secret.length >= 8, `${name} is too short to search for`);
    this.#secrets.set(name, secret);
    const last = secret.split(".").at(-1) ?? "";
    if (last !== secret && last.length >= 16) this.#secrets.set(`the end of ${name}`, last);
  }

  /** The number of planted secrets. */
  get size(): number {
    return this.#secrets.size;
  }

  /** Adds the text of a place. */
  look(name: string, text: string): void {
    this.#places.set(name, `${this.#places.get(name) ?? ""}\n${text}`);
  }

  /** Fails if a place holds a secret, or if one of these places has no text. */
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
