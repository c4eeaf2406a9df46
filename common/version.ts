import project from "../deno.json" with { type: "json" };

/** The version of this build; `deno.json` is the only place that spells it. */
export const VERSION: string = project.version;
