/** Like `Promise.all`, but when it throws no part is still at work: a late write could undo later ones. */
export async function together<T extends readonly unknown[] | []>(
  parts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(parts);
  return await Promise.all(parts);
}
