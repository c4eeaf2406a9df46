/** Writes docs/openapi.json, or with `--check` tells whether it is current. */
import { openApiDocument } from "../../server/gateway/openapi.ts";

/** The text of docs/openapi.json: every endpoint, those behind flags too. */
export const openApiText = (): string =>
  `${JSON.stringify(openApiDocument({ enableApply: true }), null, 2)}\n`;

const write = (stream: typeof Deno.stdout, text: string) =>
  stream.writeSync(new TextEncoder().encode(text));

if (import.meta.main) {
  const path = new URL("../../docs/openapi.json", import.meta.url);
  const text = openApiText();
  if (!Deno.args.includes("--check")) {
    await Deno.writeTextFile(path, text);
    write(Deno.stdout, "docs/openapi.json is up to date\n");
  } else if (await Deno.readTextFile(path).catch(() => "") !== text) {
    write(Deno.stderr, "docs/openapi.json differs from the endpoints: run deno task docs\n");
    Deno.exit(1);
  }
}
