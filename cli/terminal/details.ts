/** One line per known fact, its values below each other. */
export const details = (facts: readonly (readonly [string, string | undefined])[]): string[] => {
  const known = facts.filter(([, value]) => value);
  const width = known.reduce((most, [label]) => Math.max(most, label.length), 0) + 1;
  return known.map(([label, value = ""]) => `${`${label}:`.padEnd(width)} ${value}`);
};
