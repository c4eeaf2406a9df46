const ESCAPES: Record<string, string> = { t: "\t", n: "\n", r: "\r", "0": "\0", "\\": "\\" };

/** The values of `open_redirects.txt`, with escapes replaced. */
export const OPEN_REDIRECTS: readonly string[] = Deno
  .readTextFileSync(new URL("open_redirects.txt", import.meta.url))
  .split("\n")
  .filter((line) => line !== "" && !/^# /.test(line))
  .map((line) =>
    line.replace(
      /\\(?:u([0-9a-f]{4})|([tnr0\\]))/g,
      (_, hex: string | undefined, letter: string) =>
        hex ? String.fromCharCode(parseInt(hex, 16)) : ESCAPES[letter] ?? "",
    )
  );
