/** Texts that a tenant may write where a konnector tells about its cluster. */
export const HOSTILE_TEXTS: readonly string[] = [
  "",
  " ",
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(1)</script>",
  "\u001b[31mred\u001b]0;owned\u0007",
  "\r\nInjected: header",
  "prod\u202egnp.exe",
  "a\u200bb",
  "\u0000",
  "\ud800",
  "../../etc/passwd",
  "x".repeat(64),
  "y".repeat(1_000_000),
  "__proto__",
];

const problem = {
  api: "widgets.example.org",
  namespace: "team",
  name: "one",
  reason: "Rejected",
  message: "too big",
};
const counts = { objects: 1, conflicts: 0, rejected: 1 };

/** Summaries that are refused as a whole. */
export const REFUSED_SUMMARIES: readonly string[] = [
  ...HOSTILE_TEXTS,
  "{",
  "[]",
  "true",
  "null",
  "17",
  '"text"',
  JSON.stringify({ ...counts, objects: "1" }),
  JSON.stringify({ ...counts, conflicts: -1 }),
  JSON.stringify({ ...counts, rejected: 1.5 }),
  JSON.stringify({ ...counts, objects: 2 ** 60 }),
  JSON.stringify({ objects: 1 }),
  `{"objects":1e999,"conflicts":0,"rejected":0}`,
  `${"[".repeat(4_000)}${"]".repeat(4_000)}`,
  `${'{"a":'.repeat(1_500)}1${"}".repeat(1_500)}`,
  "[".repeat(8_000),
  JSON.stringify({ ...counts, problems: [{ ...problem, message: "x".repeat(1_000_000) }] }),
];

/** Problems that are left out of a summary that is otherwise fine. */
export const REFUSED_PROBLEMS: readonly unknown[] = [
  null,
  17,
  "text",
  [],
  {},
  { ...problem, api: "secrets" },
  { ...problem, api: "widgets.example.org/../secrets" },
  { ...problem, api: 1 },
  { ...problem, namespace: "Team" },
  { ...problem, namespace: {} },
  { ...problem, namespace: null },
  { ...problem, name: "<b>" },
  { ...problem, name: "" },
  { ...problem, name: ["one"] },
  { ...problem, reason: "not a word" },
  { ...problem, reason: "\u001b[31mRejected" },
  { ...problem, reason: "R".repeat(65) },
  { ...problem, message: { nested: { deeply: [] } } },
];

/** Messages that are shown, but made safe. */
export const HOSTILE_MESSAGES: readonly (readonly [given: string, shown: string])[] = [
  ["<b>bold</b>", "<b>bold</b>"],
  ["\u001b[31mred\u001b[0m", "[31mred[0m"],
  ["one\r\ntwo\tthree", "one two three"],
  ["a\u202eb\u200bc\u{e0041}d", "abcd"],
  ["\ud800", "\ufffd"],
  ["x".repeat(300), `${"x".repeat(199)}…`],
];
