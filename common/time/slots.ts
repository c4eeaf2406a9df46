/**
 * Runs for each item, at most `atOnce` at a time. After a failure it begins no further item, and
 * throws the first failure once every begun item has ended.
 */
export async function forEachAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = Iterator.from(items);
  let failure: { readonly error: unknown } | undefined;
  const work = async () => {
    for (const item of rest) {
      try {
        await run(item);
      } catch (error) {
        failure ??= { error };
      }
      if (failure) return;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failure) throw failure.error;
}
