import { type Command, Option } from "commander";
import type { GlobalOptions } from "./gateway/settings.ts";

const FORMS = ["json", "yaml", "wide", "name"] as const;

/** The flags of every list. */
export interface ListOptions extends GlobalOptions {
  /** A table unless told otherwise. */
  readonly output?: typeof FORMS[number];
  /** False with `--no-headers`. */
  readonly headers: boolean;
}

/** Adds `-o` and `--no-headers`. */
export const withListFlags = (command: Command): Command =>
  command
    .addOption(new Option("-o, --output <form>", "print in another form").choices(FORMS))
    .option("--no-headers", "leave the line with the names of columns out");
