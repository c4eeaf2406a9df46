/** Texts that are longer are not worth their memory. */
const LONGEST_TEXT = 4_000;
const MOST_TEXTS = 1_000;

/** Remembers what a function returns for short texts, because many objects share theirs. */
export function remembered<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const value = compute(text);
    if (text.length > LONGEST_TEXT) return value;
    if (known.size >= MOST_TEXTS) known.clear();
    known.set(text, value);
    return value;
  };
}
