/** Calls `run` with 0 to `count` - 1, at most `width` at a time. */
export async function inTurn(
  count: number,
  width: number,
  run: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: Math.min(width, count) }, async () => {
    while (next < count) await run(next++);
  }));
}
