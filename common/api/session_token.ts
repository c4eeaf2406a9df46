/** The `typ` in the open header of what a gateway seals, by what it is for. */
export const SEALED_TYPES = { session: "xbind+session", login: "xbind+login" } as const;

/** The `typ` of a text in five parts, as a gateway seals it; whether it did so is not checked. */
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

/** Whether a text has the form of a session token, as opposed to any other token. */
export const isSessionToken = (text: string): boolean =>
  sealedTypeOf(text) === SEALED_TYPES.session;
