/**
 * What a terminal obeys, and what hides from readers or turns text around: controls (C0, DEL, C1),
 * line and paragraph separators, directions, characters without a width, tags and noncharacters.
 * Not the line feed, which ends lines, and not the joiners, which scripts and emoji need.
 */
const UNSAFE = "\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b\\u200e\\u200f" +
  "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e007f}";

/** Every character inside a line that must not reach a terminal. */
export const UNSAFE_CHARACTERS: RegExp = new RegExp(`[${UNSAFE}]`, "gu");

/** Every character that lines of data for programs hold as an escape only: the joiners too. */
export const ESCAPED_CHARACTERS: RegExp = new RegExp(`[${UNSAFE}\\u200c\\u200d]`, "gu");
