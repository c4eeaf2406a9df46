/** The last lines of a text file; empty if there is no file. */
export const tailOf = async (path: string, lines: number): Promise<string> => {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.trimEnd().split("\n").slice(-lines).join("\n");
};
