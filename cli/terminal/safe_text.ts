import { UNSAFE_CHARACTERS } from "../../common/unsafe_characters.ts";

const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;

/**
 * Any text on one line, unable to do anything to a terminal. What it loses is marked, not dropped:
 * no name passes for another, and nobody can make the words around it vanish.
 */
export const safeText = (text: string): string =>
  text.replace(BREAKS, " ").replace(UNSAFE_CHARACTERS, "\ufffd");
