import project from "../deno.json" with { type: "json" };

/** The version of this build, from `deno.json`. */
export const VERSION: string = project.version;
