import { type Fields, IDENTITY_FIELDS, isFields } from "./fields.ts";

/** A field, as the names that lead to it. */
export type Path = readonly string[];

/** Paths, or why a text has none. */
export type ParsedPaths = { readonly paths: readonly Path[] } | { readonly problem: string };

const MOST_PATHS = 32;
const LONGEST_TEXT = 4_000;

/** Parses JSON pointers that are separated by commas, as in `/spec/replicas, /spec/size`. */
export function parseIgnoredPaths(text: string): ParsedPaths {
  if (text.length > LONGEST_TEXT) return { problem: `it has over ${LONGEST_TEXT} characters` };
  const pointers = text.split(",").map((each) => each.trim()).filter(Boolean);
  if (pointers.length > MOST_PATHS) return { problem: `it has over ${MOST_PATHS} paths` };
  const paths: Path[] = [];
  for (const pointer of pointers) {
    if (!/^(?:\/(?:[^~/]|~[01])+)+$/.test(pointer)) {
      return { problem: `"${pointer}" is not a JSON pointer, as in /spec/replicas` };
    }
    const path = pointer.slice(1).split("/").map((name) =>
      name.replaceAll("~1", "/").replaceAll("~0", "~")
    );
    if (IDENTITY_FIELDS.includes(path[0] ?? "")) {
      return { problem: `"${pointer}" is no content, so it is not synced anyway` };
    }
    paths.push(path);
  }
  return { paths };
}

class LeadsIntoListError extends Error {}

/** Leaves fields out of a content. Items of lists cannot be left out, because they move. */
export function withoutPaths(
  content: Fields,
  paths: readonly Path[],
): { readonly content: Fields; readonly problem?: string } {
  let left: unknown = content;
  for (const path of paths) {
    try {
      left = without(left, path);
    } catch (error) {
      if (!(error instanceof LeadsIntoListError)) throw error;
      return { content, problem: `"/${path.join("/")}" leads into a list: name the whole list` };
    }
  }
  return { content: left as Fields };
}

function without(value: unknown, [name = "", ...rest]: Path): unknown {
  if (Array.isArray(value)) throw new LeadsIntoListError();
  if (!isFields(value) || !Object.hasOwn(value, name)) return value;
  if (rest.length > 0) return { ...value, [name]: without(value[name], rest) };
  const { [name]: _, ...left } = value;
  return left;
}
