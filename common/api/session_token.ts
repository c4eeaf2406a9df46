/** The `typ` header of sealed tokens, by purpose. */
export const SEALED_TYPES = { session: "xbind+session", login: "xbind+login" } as const;

/** Returns the `typ` header of a text with five parts. Does not check its seal. */
export const sealedTypeOf = (text: string): string | undefined => {
  const [header = "", ...others] = text.split(".", 6);
  if (others.length !== 4) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(header, { alphabet: "base64url" });
    const fields: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof fields !== "object" || fields === null || !("typ" in fields)) return undefined;
    return typeof fields.typ === "string" ? fields.typ : undefined;
  } catch {
    return undefined;
  }
};

/** Returns whether a text has the form of a session token. */
export const isSessionToken = (text: string): boolean =>
  sealedTypeOf(text) === SEALED_TYPES.session;
