/** What is wrong with a value, and where in it: `exports[2].name is no text`. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}

/** Gives the value in its checked form, or throws a `ShapeError` that names the place. */
export type Parse<T> = (value: unknown, at: string) => T;

/** The value that a parser gives. */
export type Parsed<P> = P extends Parse<infer T> ? T : never;

/** A string. */
export const text: Parse<string> = (value, at) => {
  if (typeof value !== "string") throw new ShapeError(`${at || "it"} is no text`);
  return value;
};

/** A nonempty string. */
export const name: Parse<string> = (value, at) => {
  if (text(value, at) === "") throw new ShapeError(`${at} is empty`);
  return text(value, at);
};

/** A finite number. */
export const number: Parse<number> = (value, at) => {
  if (typeof value !== "number") throw new ShapeError(`${at || "it"} is no number`);
  return value;
};

/** True or false. */
export const flag: Parse<boolean> = (value, at) => {
  if (typeof value !== "boolean") throw new ShapeError(`${at || "it"} is neither true nor false`);
  return value;
};

/** One of these texts. */
export const oneOf = <T extends string>(...allowed: readonly T[]): Parse<T> => (value, at) => {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new ShapeError(`${at} is none of ${allowed.join(", ")}`);
  return found;
};

/** A list of such values. */
export const list = <T>(item: Parse<T>): Parse<readonly T[]> => (value, at) => {
  if (!Array.isArray(value)) throw new ShapeError(`${at || "it"} is no list`);
  return value.map((each, i) => item(each, `${at}[${i}]`));
};

type Fields = Readonly<Record<string, Parse<unknown>>>;
type Values<R extends Fields, O extends Fields> =
  & { readonly [K in keyof R]: Parsed<R[K]> }
  & { readonly [K in keyof O]?: Parsed<O[K]> };

/** An object with these fields; what is optional may also be null, other fields are left out. */
export const record = <R extends Fields, O extends Fields = Record<never, never>>(
  required: R,
  optional?: O,
): Parse<Values<R, O>> =>
(value, at) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ShapeError(`${at || "it"} is no object`);
  }
  const given = value as Readonly<Record<string, unknown>>;
  const path = (key: string) => at === "" ? key : `${at}.${key}`;
  const checked: Record<string, unknown> = {};
  for (const [key, parse] of Object.entries(required)) checked[key] = parse(given[key], path(key));
  for (const [key, parse] of Object.entries(optional ?? {})) {
    const field = given[key];
    if (field !== undefined && field !== null) checked[key] = parse(field, path(key));
  }
  return checked as Values<R, O>;
};
