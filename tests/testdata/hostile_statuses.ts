const nested = (depth: number): object => depth === 0 ? {} : { deeper: nested(depth - 1) };

/** Statuses that a provider may write, and a consumer must get as they are. */
export const HOSTILE_STATUSES: readonly (readonly [what: string, status: object])[] = [
  ["1 MB of text", { text: "x".repeat(1_000_000) }],
  ["conditions that are text", { conditions: "text" }],
  ["conditions of wrong types", { conditions: [null, 7, "x", [], { type: 7, status: {} }] }],
  ["generations of wrong types", {
    observedGeneration: "x",
    conditions: [{ type: "Ready", observedGeneration: { toString: 7 } }],
  }],
  ["generations that are absurd", {
    observedGeneration: -1e300,
    conditions: [{ type: "Ready", observedGeneration: 0.5 }],
  }],
  ["names of JavaScript", { constructor: 7, toString: "x", hasOwnProperty: [] }],
  ["odd characters", { "\u202e\u0000\u001b[2J/~0~1": "\ud83d\ude00 <img src=x onerror=alert(1)>" }],
  ["many fields", Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]))],
  ["deep fields", nested(80)],
];
