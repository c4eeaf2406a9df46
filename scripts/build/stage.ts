import path from "node:path";
import { BuildError, complaint, runDeno } from "./run_build.ts";
import { copyTree } from "./files.ts";
import { ROOT } from "./source_state.ts";

/** Makes Deno install packages into the folder of the sources. */
export const NODE_MODULES = "--node-modules-dir=auto";

const SOURCES = ["common", "server", "cli", "konnector", "ui", "crds", "deno.json", "deno.lock"];

/**
 * Deno would take the CommonJS form of the YAML parser. Its ES modules are packed without unused
 * parts, and V8 parses them once per start instead of twice: the backend starts 20 ms faster.
 */
const SCOPES = { "./": { yaml: "./node_modules/yaml/browser/index.js" } };

/**
 * A copy of the sources and their packages in a folder of its own. Packed scripts and source maps
 * hold relative paths of their sources. Made here, these paths reveal neither the checkout nor
 * Deno's cache, and are the same on every machine.
 */
export class Stage implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** Copies the sources into a new folder in `parent`; `version` replaces the one in deno.json. */
  static async create(parent: string, version?: string): Promise<Stage> {
    const stage = new Stage(await Deno.makeTempDir({ dir: parent, prefix: ".stage-" }));
    try {
      for (const name of SOURCES) {
        await copyTree(path.join(ROOT, name), path.join(stage.dir, name), isSource);
      }
      await stage.#adaptProject(version);
      await stage.#install();
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #adaptProject(version?: string): Promise<void> {
    const file = path.join(this.dir, "deno.json");
    const project = JSON.parse(await Deno.readTextFile(file));
    const adapted = { ...project, version: version ?? project.version, scopes: SCOPES };
    await Deno.writeTextFile(file, JSON.stringify(adapted));
  }

  /** A separate step, because packing would not say why it cannot find a package. */
  async #install(): Promise<void> {
    const result = await runDeno(["install", "--quiet", "--frozen", NODE_MODULES], {
      cwd: this.dir,
    });
    if (!result.success) throw new BuildError(`Cannot get the packages: ${complaint(result)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}

const isSource = (name: string): boolean => !/_test\.tsx?$/.test(name) && name !== "node_modules";
