/**
 * Characters that control a terminal, are invisible, or reorder text: controls (C0, DEL, C1), line
 * and paragraph separators, directions, zero-width characters, tags and noncharacters. Excludes the
 * line feed, which ends lines, and the joiners, which scripts and emoji need.
 */
const UNSAFE = "\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b\\u200e\\u200f" +
  "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e007f}";

/** Matches every character of a line that must not reach a terminal. */
export const UNSAFE_CHARACTERS: RegExp = new RegExp(`[${UNSAFE}]`, "gu");

/** Matches every character to escape in data for programs; includes the joiners. */
export const ESCAPED_CHARACTERS: RegExp = new RegExp(`[${UNSAFE}\\u200c\\u200d]`, "gu");
