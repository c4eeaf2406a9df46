/** How a start script runs the packed script beside it. */
export interface StartScript {
  /** The program in the message for users without Deno. */
  readonly name: string;
  /** Deno, by name on `PATH` or by path. */
  readonly deno: string;
  readonly runFlags: readonly string[];
  /** The packed script, relative to the start script. */
  readonly entry: string;
}

/** Makes Deno ignore settings in the working directory. */
const ALWAYS = "--quiet --no-config --no-lock";

const lacksDeno = (name: string): string =>
  `Cannot start ${name}: Deno 2.9 or newer is not on PATH (https://deno.com)`;

/** A start script for a POSIX shell; it follows symbolic links to itself. */
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

/** A start script for Windows. */
export const windowsStartScript = ({ name, deno, runFlags, entry }: StartScript): string =>
  [
    "@echo off",
    `where ${deno} >nul 2>nul || (echo ${lacksDeno(name)} 1>&2 & exit /b 127)`,
    "set DENO_NO_UPDATE_CHECK=1",
    `${deno} run ${ALWAYS} ${runFlags.join(" ")} "%~dp0${entry.replaceAll("/", "\\")}" %*`,
    "",
  ].join("\r\n");
