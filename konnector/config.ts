import type { Program } from "../common/flags/flag_help.ts";
import type { ConfigOf } from "../common/flags/flag_kinds.ts";
import {
  type Combination,
  type Invocation,
  parseInvocation,
} from "../common/flags/parse_invocation.ts";
import { FLAG_GROUPS, FLAGS } from "./flag_table.ts";

/** Holds the settings of one process, frozen; flag_table.ts lists them. */
export type Config = ConfigOf<typeof FLAGS>;

/** Introduces the konnector in its help. */
export const PROGRAM: Program = {
  name: "xbind-konnector",
  purpose: "The consumer side of xbind: syncs objects of bound APIs with their provider.",
  success: "stopped by SIGTERM or SIGINT",
};

const COMBINATIONS: readonly Combination<typeof FLAGS>[] = [
  {
    reads: ["secret-namespaces"],
    isWrong: ({ secretNamespaces }) => secretNamespaces.length === 0,
    problem: "--secret-namespaces names no namespace: every Connection needs a Secret",
  },
];

/** Reads flags and `XBIND_*` variables, or throws one ConfigError that lists every problem. */
export const parseConfig = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Invocation<Config> =>
  parseInvocation(
    { program: PROGRAM, flags: FLAGS, groups: FLAG_GROUPS, combinations: COMBINATIONS },
    args,
    env,
  );
