import { CliError } from "../cli_error.ts";

/** Returns whether the value at a path may be another than the model's. */
export type MayDiffer = (path: string, given: unknown) => boolean;

/**
 * Lists the paths at which a JSON value differs from a model, such as `spec.ports[0].hostPort`; the
 * empty path stands for the value itself. Lists of different lengths differ as a whole.
 */
export function differences(
  given: unknown,
  model: unknown,
  mayDiffer: MayDiffer = () => false,
  path = "",
): string[] {
  if (mayDiffer(path, given)) return [];
  if (Array.isArray(given) && Array.isArray(model) && given.length === model.length) {
    return given.flatMap((item, at) => differences(item, model[at], mayDiffer, `${path}[${at}]`));
  }
  if (isMapping(given) && isMapping(model)) {
    const keys = new Set([...Object.keys(given), ...Object.keys(model)]);
    return [...keys].flatMap((key) =>
      differences(given[key], model[key], mayDiffer, path === "" ? key : `${path}.${key}`)
    );
  }
  return Object.is(given, model) ? [] : [path];
}

/** Returns whether a value is a JSON object. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const ASK_PROVIDER =
  "Nothing of it was applied. Check --server, and ask the operator of that gateway";

/** The error for a document of the gateway that is refused; nothing of it was applied. */
export const refused = (document: string, reason: string, remedy = ASK_PROVIDER): CliError =>
  new CliError("failure", `Cannot use ${document} of the gateway: ${reason}`, remedy);
