import type { Io } from "./io.ts";
import type { ListOptions } from "./list_flags.ts";
import type { TableOptions } from "./table.ts";

/** A list in each of its forms. */
export interface Listing {
  /** For `json` and `yaml`. */
  readonly data: object;
  /** For `name`, one per line. */
  readonly names: readonly string[];
  readonly table: (options: TableOptions & { readonly wide: boolean }) => string;
  /** Said on stderr when the table has no rows. */
  readonly empty: string;
}

/** Prints a list as the flags ask for. */
export const printList = async (io: Io, options: ListOptions, list: Listing): Promise<void> => {
  const { output, headers } = options;
  if (output === "json" || output === "yaml") return await printData(io, output, list.data);
  if (output === "name") return io.out(list.names.map((name) => `${name}\n`).join(""));
  if (list.names.length === 0) return io.say(list.empty);
  io.out(list.table({ wide: output === "wide", noHeaders: !headers }));
};

/** Prints a value for programs; nothing in it can do anything to a terminal. */
export const printData = async (io: Io, form: "json" | "yaml", data: object): Promise<void> => {
  if (form === "json") return io.out(`${safeJson(data)}\n`);
  const { toYaml } = await import("../server/konnector/to_yaml.ts");
  io.out(toYaml([data]));
};

/** Control and direction characters that JSON itself leaves as they are. */
const UNSAFE = /[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** JSON for people and programs, all dangerous characters escaped. */
export const safeJson = (data: object): string =>
  JSON.stringify(data, undefined, 2).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
