import path from "node:path";
import { BuildError } from "./run_build.ts";

/** The root of the sources. */
export const ROOT: string = path.join(import.meta.dirname ?? "", "..", "..");

/** The commit of the sources. */
export interface SourceState {
  /** The time of the last commit in seconds since 1970; a fixed day without git. */
  readonly dateSeconds: number;
  /** The commit; ends in `-dirty` when files differ from it. */
  readonly revision?: string;
}

/** 1980, the first date that every archive format can hold. */
const NO_DATE_SECONDS = 315_532_800;

/** Reads the commit that is checked out, if any. */
export async function sourceState(root: string = ROOT): Promise<SourceState> {
  const head = await git(root, ["log", "-1", "--format=%ct %H"]);
  const [, seconds, revision] = /^(\d+) ([0-9a-f]+)$/.exec(head?.trim() ?? "") ?? [];
  if (seconds === undefined || revision === undefined) return { dateSeconds: NO_DATE_SECONDS };
  const isDirty = await git(root, ["status", "--porcelain"]) !== "";
  return { dateSeconds: Number(seconds), revision: isDirty ? `${revision}-dirty` : revision };
}

/** Throws unless the sources are exactly those of a commit. */
export async function requireCleanTree(root: string = ROOT): Promise<void> {
  const changes = await git(root, ["status", "--porcelain"]);
  if (changes === undefined) {
    throw new BuildError(
      `Cannot make a release: git does not know "${root}" (is git installed, and is it a clone?)`,
    );
  }
  const files = changes.split("\n").filter((line) => line !== "").map((line) => line.slice(3));
  if (files.length === 0) return;
  const more = files.length > 3 ? ` and ${files.length - 3} more` : "";
  throw new BuildError(
    `Cannot make a release: there are uncommitted changes (${
      files.slice(0, 3).join(", ")
    }${more}); ` +
      "commit them, or pass --allow-dirty",
  );
}

async function git(root: string, args: string[]): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args: ["-C", root, ...args],
      stdin: "null",
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
