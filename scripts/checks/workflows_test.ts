import assert from "node:assert/strict";
import path from "node:path";
import { parse } from "yaml";
import { PRODUCTS } from "../build/compile.ts";
import { IMAGES } from "../image/image_config.ts";
import project from "../../deno.json" with { type: "json" };

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly uses?: string;
  readonly needs?: string | string[];
  readonly steps?: readonly Step[];
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> };
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The jobs that may do more than read the repository; `<file> <job>`. */
const MORE_PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  "codeql.yml analyze": ["contents: read", "security-events: write"],
  "release.yml publish": ["contents: write", "id-token: write", "packages: write"],
  "scorecard.yml analyze": ["contents: read", "id-token: write", "security-events: write"],
};
const FOLDER = path.join(import.meta.dirname ?? "", "..", "..", ".github", "workflows");
const NAMES = [...Deno.readDirSync(FOLDER)].map(({ name }) => name).sort();
const TASK = /\bdeno@\S+ task (\S+)/g;
const read = (name: string) => Deno.readTextFile(path.join(FOLDER, name));
const workflow = async (name: string): Promise<Workflow> =>
  parse(await read(name), { strict: true });

for (const name of NAMES) {
  Deno.test(`.github/workflows/${name}`, async (t) => {
    const { permissions, jobs } = await workflow(name);
    const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);

    await t.step("calls tasks that exist", () => {
      for (const [, task = ""] of steps.flatMap(({ run = "" }) => [...run.matchAll(TASK)])) {
        assert.ok(task in project.tasks, task);
      }
    });
    await t.step("pins every action to a commit, and names its version", async () => {
      for (const [, uses = ""] of (await read(name)).matchAll(/^\s*(?:- )?uses: (.*)$/gm)) {
        if (uses.startsWith("./")) continue;
        assert.match(uses, /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      }
    });
    await t.step("may only read, except for the jobs listed here", () => {
      assert.deepEqual(permissions, { contents: "read" });
      for (const [id, job] of Object.entries(jobs)) {
        const granted = job.permissions &&
          Object.entries(job.permissions).map(([scope, level]) => `${scope}: ${level}`).sort();
        assert.deepEqual(granted, MORE_PERMISSIONS[`${name} ${id}`], id);
      }
    });
    await t.step("leaves no token behind for later steps", () => {
      for (const step of steps) {
        if (!step.uses?.startsWith("actions/checkout@")) continue;
        assert.equal(step.with?.["persist-credentials"], false);
      }
    });
    await t.step("puts no text that others write into a shell", () => {
      for (const { run = "" } of steps) assert.ok(!run.includes("${{"), run);
    });
    await t.step("ends every job in time, and needs only jobs that exist", () => {
      for (const [id, job] of Object.entries(jobs)) {
        assert.ok(job.uses !== undefined || job["timeout-minutes"] !== undefined, id);
        for (const needed of [job.needs ?? []].flat()) assert.ok(needed in jobs, needed);
      }
    });
  });
}

Deno.test("all workflows use the same commit of an action", async () => {
  const pins = new Map<string, Set<string>>();
  for (const name of NAMES) {
    const uses = (await read(name)).matchAll(/uses: ([\w./-]+)@(.*)$/gm);
    for (const [, action = "", pin = ""] of uses) {
      const repository = action.split("/").slice(0, 2).join("/");
      pins.set(repository, (pins.get(repository) ?? new Set()).add(pin));
    }
  }
  assert.ok(pins.size > 5);
  for (const [repository, versions] of pins) assert.equal(versions.size, 1, repository);
});

Deno.test("ci runs the checks, the audit, the package builds and all shards", async () => {
  const { jobs } = await workflow("ci.yml");
  const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);
  const tasks = steps.flatMap(({ run = "" }) => [...run.matchAll(TASK)].map(([, task]) => task));
  for (const task of ["ok", "audit", "test:e2e", "build", "image"]) {
    assert.ok(tasks.includes(task), task);
  }
  const sharded = Object.values(jobs).filter((job) =>
    job.steps?.some(({ run = "" }) => run.includes("--shard"))
  );
  assert.equal(sharded.length, 1);
  for (const { strategy, steps = [] } of sharded) {
    const shards = strategy?.matrix["shard"] as number[];
    assert.deepEqual(shards, shards.map((_, index) => index + 1));
    const step = steps.find(({ run = "" }) => run.includes("--shard"));
    assert.match(step?.run ?? "", /--shard="\$SHARD\/\$SHARDS"/);
    const env = { SHARD: "${{ matrix.shard }}", SHARDS: "${{ strategy.job-total }}" };
    assert.deepEqual(step?.env, env);
    // The number of jobs is the number of shards only if nothing else varies.
    assert.deepEqual(Object.keys(strategy?.matrix ?? {}), ["shard"]);
  }
});

Deno.test("the release workflow publishes only what was tested and tried", async () => {
  const { jobs } = await workflow("release.yml");
  const before = (id: string): string[] =>
    [jobs[id]?.needs ?? []].flat().flatMap((needed) => [needed, ...before(needed)]);
  assert.deepEqual([...new Set(before("publish"))].sort(), ["build", "image", "test", "try"]);
  assert.equal(jobs["test"]?.uses, "./.github/workflows/ci.yml");
});

Deno.test("the release workflow publishes every image with its own bill of materials", async () => {
  const { jobs } = await workflow("release.yml");
  const upload = jobs["image"]?.steps?.find(({ uses = "" }) => uses.includes("upload-artifact"));
  assert.match(
    String(upload?.with?.["path"]),
    /^dist\/\*-image\.tar\ndist\/\*-image\.spdx\.json$/m,
  );
  const runs = (jobs["publish"]?.steps ?? []).map(({ run = "" }) => run).join("\n");
  assert.ok(runs.includes(`for program in ${Object.keys(IMAGES).join(" ")}; do`));
  assert.match(runs, /^ *image=\$IMAGES\/\$program$/m);
  for (const [program, { repository }] of Object.entries(IMAGES)) {
    assert.equal(repository, `ghcr.io/xbind/${program}`);
  }
  assert.match(runs, /made=images-\$arch\/\$program-image$/m);
  assert.match(runs, /cosign attest .*--predicate "\$made\.spdx\.json"/);
});

Deno.test("the release workflow tries every program", async () => {
  const { jobs } = await workflow("release.yml");
  const run = jobs["try"]?.steps?.find(({ run }) => run !== undefined)?.run ?? "";
  const [, tried = ""] = /^for program in (.*); do$/m.exec(run) ?? [];
  assert.deepEqual(tried.split(" ").sort(), Object.values(PRODUCTS).map(({ name }) => name).sort());
});
