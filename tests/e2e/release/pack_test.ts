import assert from "node:assert/strict";
import path from "node:path";
import { SOURCES } from "../../support/worlds/build_world.ts";
import { Backend } from "../../support/programs/backend.ts";
import { cliScripts } from "../../support/programs/cli.ts";
import { Konnector } from "../../support/programs/konnector.ts";

const DAEMONS = [
  ["xbind-backend", Backend, "server/main.ts"],
  ["xbind-konnector", Konnector, "konnector/main.ts"],
] as const;

Deno.test("packBackend() leaves out HTTP/2, which the web server does not serve", async () => {
  const text = await Deno.readTextFile(await Backend.script());
  assert.match(text, /from"node:http"/);
  assert.doesNotMatch(text, /node:http2/);
});

Deno.test("packKonnector() packs no code of other programs, and none that starts processes", async () => {
  const { sources } = JSON.parse(await Deno.readTextFile(`${await Konnector.script()}.map`));
  assert.ok(sources.includes("../konnector/main.ts"), sources.slice(-3).join());
  for (const source of sources) {
    assert.match(source, /^\.\.\/(common|konnector|crds|node_modules|deno\.json)/);
    assert.doesNotMatch(source, /exec_credential/);
  }
  const text = await Deno.readTextFile(await Konnector.script());
  assert.doesNotMatch(text, /node:(http2|child_process)/);
});

/**
 * The minifier inlines a `using` variable that is read once, in the next statement, and loses its
 * dispose: a lock would never be released.
 */
Deno.test("packed scripts keep every `using` of the sources", async (t) => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-using-" });
  try {
    for (const [name, program, entry] of DAEMONS) {
      await t.step(name, async () => {
        await bundle(["--output", `${dir}/${name}.js`, entry]);
        const packed = await Deno.readTextFile(await program.script());
        assert.equal(usingsIn(packed), usingsIn(await Deno.readTextFile(`${dir}/${name}.js`)));
      });
    }
    await t.step("kubectl-bind", async () => {
      await bundle(["--code-splitting", "--outdir", `${dir}/cli`, "cli/main.ts"]);
      const packed = await scriptsIn(await cliScripts());
      assert.equal(usingsIn(packed), usingsIn(await scriptsIn(`${dir}/cli`)));
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("usingsIn() counts merged declarations one by one", () => {
  assert.equal(usingsIn("using a=f(b,c),d=g([e,h]);i();{using j=await k(`,`,',')}"), 3);
});

async function bundle(args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", ...args],
    cwd: SOURCES,
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

async function scriptsIn(dir: string): Promise<string> {
  const names = (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name);
  const scripts = names.filter((name) => name.endsWith(".js")).sort();
  const texts = scripts.map((name) => Deno.readTextFile(path.join(dir, name)));
  return (await Promise.all(texts)).join("\n");
}

/** Counts the variables that `using` declares. The minifier merges neighbours: `using a=b,c=d`. */
function usingsIn(script: string): number {
  let count = 0;
  for (const { index } of script.matchAll(/\busing [\w$]+ ?=/g)) {
    count++;
    let depth = 0;
    const end = /\\.|[()[\]{},;]|(["'`])(?:\\.|(?!\1)[^])*\1/g;
    end.lastIndex = index;
    for (let found = end.exec(script); found; found = end.exec(script)) {
      const [token] = found;
      if ("([{".includes(token)) depth++;
      else if (")]}".includes(token)) depth--;
      else if (token === "," && depth === 0) count++;
      if (depth < 0 || (token === ";" && depth === 0)) break;
    }
  }
  return count;
}
