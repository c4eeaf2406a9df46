import { UNSAFE_CHARACTERS } from "../../common/unsafe_characters.ts";

const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;

/**
 * Puts any text on one line without characters that control a terminal. Replaces such characters
 * instead of dropping them, so that two different names never look the same.
 */
export const safeText = (text: string): string =>
  text.replace(BREAKS, " ").replace(UNSAFE_CHARACTERS, "\ufffd");
