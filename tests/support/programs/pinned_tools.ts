import type { Progress } from "../../../scripts/tools/progress.ts";

/** Stands in for Go: notes what it builds, and makes programs that do nothing. */
const FAKE_GO = `#!/bin/sh
here=\${0%/*}
[ "$1 $2" = "env GOVERSION" ] && { echo go1.26.0; exit; }
echo "$*" >> "$here/calls"
[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\n' > "$2"
chmod +x "$2"
`;

/** A machine with a stand-in for Go, an empty cache, and no downloads unless a mirror is given. */
export const pinnedTools = async (
  binary: (progress: Progress, env: Record<string, string>) => Promise<string>,
) => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-tools-test-" });
  const script = (path: string, text: string) =>
    Deno.writeTextFile(`${dir}/${path}`, text, { mode: 0o755 });
  await Deno.mkdir(`${dir}/bin`);
  await Deno.mkdir(`${dir}/path`);
  await script("bin/go", FAKE_GO);
  const labels: string[] = [];
  const progress: Progress = {
    run: (label, work) => (labels.push(label), work(() => {})),
    note: (text) => labels.push(text),
  };
  const env = {
    PATH: `${dir}/path:${dir}/bin:/usr/bin:/bin`,
    XBIND_CACHE_DIR: `${dir}/cache`,
    XBIND_DOWNLOAD_MIRROR: "off",
  };
  return {
    dir,
    labels,
    /** Puts a program that prints this version somewhere. */
    put: (path: string, version: string) => script(path, `#!/bin/sh\necho '${version}'\n`),
    find: (more: Record<string, string> = {}) => binary(progress, { ...env, ...more }),
    builds: async () => {
      const calls = await Deno.readTextFile(`${dir}/bin/calls`).catch(() => "");
      return calls.split("\n").filter((call) => call.startsWith("build"));
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
};
