/** Finds the candidate that a mistyped word probably means; undefined when none is close. */
export const closest = (word: string, candidates: readonly string[]): string | undefined => {
  const wanted = word.toLowerCase();
  const limit = Math.max(1, Math.floor(Math.max(wanted.length, 3) / 3));
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = wanted.length >= 3 && candidate.startsWith(wanted)
      ? 1
      : editDistance(wanted, candidate.toLowerCase(), limit);
    if (distance <= limit && (!best || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
};

/** Counts insertions, deletions, replacements and swaps of neighbours between two words. */
const editDistance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j] ?? Infinity) + 1,
        (row[j - 1] ?? Infinity) + 1,
        (last[j - 1] ?? Infinity) + (isSame ? 0 : 1),
      );
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, (before[j - 2] ?? Infinity) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? Infinity;
};
