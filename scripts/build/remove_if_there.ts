/** Removes a file or folder, if it is there. */
export async function removeIfThere(target: string): Promise<void> {
  await Deno.remove(target, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
