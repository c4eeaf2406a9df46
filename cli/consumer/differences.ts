/**
 * Where a JSON value is not like a model: paths such as `spec.ports[0].hostPort`, the empty path
 * for the value itself. Lists of different lengths differ as a whole.
 */
export function differences(given: unknown, model: unknown, path = ""): string[] {
  if (Array.isArray(given) && Array.isArray(model) && given.length === model.length) {
    return given.flatMap((item, at) => differences(item, model[at], `${path}[${at}]`));
  }
  if (isMapping(given) && isMapping(model)) {
    const keys = new Set([...Object.keys(given), ...Object.keys(model)]);
    return [...keys].flatMap((key) =>
      differences(given[key], model[key], path === "" ? key : `${path}.${key}`)
    );
  }
  return Object.is(given, model) ? [] : [path];
}

/** A JSON object, as opposed to a list, a text or nothing. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
