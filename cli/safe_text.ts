const ESC = "\\u001b";
const BELL = "\\u0007";
/** A string command (title, clipboard, …) up to its end, a control sequence, or a short escape. */
const SEQUENCES = new RegExp(
  `(?:${ESC}\\]|\\u009d|${ESC}[PX^_]|[\\u0090\\u0098\\u009e\\u009f])` +
    `[^${ESC}${BELL}\\u009c]*(?:${BELL}|\\u009c|${ESC}\\\\)?` +
    `|(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]?` +
    `|${ESC}[ -/]*[0-~]?`,
  "gu",
);
/** Invisible, or able to turn what follows around: all but the joiners that scripts need. */
const INVISIBLE = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]/gu;
const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;

/** Text of strangers on one line, unable to do anything to a terminal. */
export const safeText = (text: string): string =>
  text.replace(SEQUENCES, "").replace(BREAKS, " ").replace(INVISIBLE, "");
