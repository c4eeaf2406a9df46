import { isToken } from "../gateway/settings.ts";

/** The token in what was pasted: itself, or the URL that the browser could not open. */
export const pastedToken = (line: string): string | undefined => {
  const text = line.trim().replace(/^["']|["']$/g, "");
  const token = URL.canParse(text) ? new URL(text).searchParams.get("token") : text;
  return token !== null && token.length >= MIN_CHARACTERS && isToken(token) ? token : undefined;
};

/** Shorter than any token; typing a word is not worth a question to the gateway. */
const MIN_CHARACTERS = 20;
