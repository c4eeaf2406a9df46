/** The last lines of a text file; empty when there is none. */
export const tailOf = async (path: string, lines: number): Promise<string> => {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.trimEnd().split("\n").slice(-lines).join("\n");
};
