/** How Deno is told to run a bundle that lies beside the script. */
export interface StartScript {
  /** For people who lack Deno: what it is that does not start. */
  readonly name: string;
  /** The program, on `PATH` or by its path. */
  readonly deno: string;
  readonly runFlags: readonly string[];
  /** The bundle's file, relative to the script. */
  readonly entry: string;
}

/** Deno looks for no settings of the directory in which somebody happens to be. */
const ALWAYS = "--quiet --no-config --no-lock";

const lacksDeno = (name: string): string =>
  `Cannot start ${name}: Deno 2.9 or newer is not on PATH (https://deno.com)`;

/** For a POSIX shell; finds the bundle through any number of symbolic links. */
export const shellStartScript = ({ name, deno, runFlags, entry }: StartScript): string =>
  `#!/bin/sh
command -v ${deno} >/dev/null 2>&1 || {
  echo "${lacksDeno(name)}" >&2
  exit 127
}
export DENO_NO_UPDATE_CHECK=1
exec ${deno} run ${ALWAYS} ${runFlags.join(" ")} \\
  "$(dirname "$(readlink -f "$0")")/${entry}" "$@"
`;

/** For Windows. */
export const windowsStartScript = ({ name, deno, runFlags, entry }: StartScript): string =>
  [
    "@echo off",
    `where ${deno} >nul 2>nul || (echo ${lacksDeno(name)} 1>&2 & exit /b 127)`,
    "set DENO_NO_UPDATE_CHECK=1",
    `${deno} run ${ALWAYS} ${runFlags.join(" ")} "%~dp0${entry.replaceAll("/", "\\")}" %*`,
    "",
  ].join("\r\n");
