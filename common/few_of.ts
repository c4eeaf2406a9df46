/** Names the first few, and counts the others: `a, b and 3 more`. */
export function fewOf(names: readonly string[], few: number): string {
  const shown = names.slice(0, few).join(", ");
  return names.length > few ? `${shown} and ${names.length - few} more` : shown;
}
