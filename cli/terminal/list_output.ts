import { ESCAPED_CHARACTERS } from "../../common/unsafe_characters.ts";
import type { Io } from "./io.ts";
import { linesOf } from "./lines_of.ts";
import type { ListOptions } from "../list_flags.ts";
import type { TableOptions } from "./table.ts";

/** A list in each of its forms. */
export interface Listing {
  /** For `json` and `yaml`. */
  readonly data: object;
  /** For `name`, one per line. */
  readonly names: readonly string[];
  readonly table: (options: TableOptions & { readonly wide: boolean }) => string[];
  /** Said on stderr when the table has no rows. */
  readonly empty: string;
  /** Said on stderr after the table. */
  readonly notes?: readonly string[];
}

/** Prints a list as the flags ask for. */
export const printList = async (io: Io, options: ListOptions, list: Listing): Promise<void> => {
  const { output, headers } = options;
  if (output === "json" || output === "yaml") return await printData(io, output, list.data);
  if (output === "name") return io.out(list.names);
  if (list.names.length === 0) io.say(list.empty);
  else io.out(list.table({ wide: output === "wide", noHeaders: !headers }));
  for (const note of list.notes ?? []) io.say(`Note: ${note}`);
};

/** Prints a value for programs; nothing in it can do anything to a terminal. */
export const printData = async (io: Io, form: "json" | "yaml", data: object): Promise<void> => {
  if (form === "json") return io.out(linesOf(safeJson(data)));
  const { toYaml } = await import("../../common/to_yaml.ts");
  io.out(linesOf(toYaml([data])));
};

/** JSON for people and programs, all dangerous characters escaped. */
export const safeJson = (data: object): string =>
  JSON.stringify(data, undefined, 2).replace(ESCAPED_CHARACTERS, escaped);

const escaped = (character: string): string =>
  character.split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
