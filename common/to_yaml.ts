import { Document, visit } from "yaml";
import { ESCAPED_CHARACTERS } from "./unsafe_characters.ts";

/**
 * Writes objects as YAML documents, without aliases. Quotes text that another parser, above all Go's,
 * could read as a number, a date, a boolean or a line break. Escapes control characters and invisible
 * ones.
 */
export const toYaml = (objects: readonly object[]): string =>
  objects.map(documentText).join("---\n");

/** Quoted, because parsers differ in what they read as a number. */
const LIKE_NUMBER = /^[-+]?[.\d]/;
/** Quoted, because a block loses blanks at the end of a line, and blanks at its start indent it. */
const LOST_BLANKS = /^\s| (?:\n|$)/;
/** Keeps quoted text on one line, because parsers differ in how they fold lines. */
const NO_QUOTED_LINE_BREAKS = { doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER };

function documentText(object: object): string {
  const document = new Document(object, { version: "1.1", aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar;
      if (typeof value !== "string") return;
      const isRisky = LIKE_NUMBER.test(value) || LOST_BLANKS.test(value) ||
        value.search(ESCAPED_CHARACTERS) >= 0;
      if (isRisky) scalar.type = "QUOTE_DOUBLE";
    },
  });
  // All of these are now inside double quotes.
  return document.toString({ lineWidth: 0, ...NO_QUOTED_LINE_BREAKS })
    .replace(ESCAPED_CHARACTERS, escaped);
}

const escaped = (character: string): string => {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
};
