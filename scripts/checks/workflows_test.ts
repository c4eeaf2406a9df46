import assert from "node:assert/strict";
import path from "node:path";
import { parse } from "yaml";
import project from "../../deno.json" with { type: "json" };

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly uses?: string;
  readonly needs?: string | string[];
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = path.join(import.meta.dirname ?? "", "..", "..", ".github", "workflows");
const TASK = /\bdeno@\S+ task (\S+)/g;
const workflow = async (name: string): Promise<Workflow> =>
  parse(await Deno.readTextFile(path.join(FOLDER, name)), { strict: true });

for (const name of ["ci.yml", "release.yml"]) {
  Deno.test(`.github/workflows/${name}`, async (t) => {
    const { permissions, jobs } = await workflow(name);
    const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);

    await t.step("calls tasks that exist", () => {
      const tasks = steps.flatMap(({ run = "" }) =>
        [...run.matchAll(TASK)].map(([, task]) => task)
      );
      assert.ok(tasks.length > 0);
      for (const task of tasks) assert.ok(task !== undefined && task in project.tasks, `${task}`);
    });
    await t.step("pins every action to a commit", () => {
      for (const { uses } of steps) {
        if (uses !== undefined) assert.match(uses, /^[\w./-]+@[0-9a-f]{40}$/);
      }
    });
    await t.step("may only read, but for jobs that say more", () => {
      assert.deepEqual(permissions, { contents: "read" });
      const more = Object.entries(jobs).filter(([, job]) => job.permissions);
      assert.deepEqual(more.map(([job]) => job), name === "release.yml" ? ["publish"] : []);
    });
    await t.step("leaves no token behind for later steps", () => {
      for (const step of steps) {
        if (step.uses?.startsWith("actions/checkout@")) {
          assert.equal(step.with?.["persist-credentials"], false);
        }
      }
    });
    await t.step("puts nothing that others write into a shell", () => {
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

Deno.test("the release workflow publishes only what was tested and tried", async () => {
  const { jobs } = await workflow("release.yml");
  const before = (id: string): string[] =>
    [jobs[id]?.needs ?? []].flat().flatMap((needed) => [needed, ...before(needed)]);
  assert.deepEqual([...new Set(before("publish"))].sort(), ["build", "image", "test", "try"]);
});
