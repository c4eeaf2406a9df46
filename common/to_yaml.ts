import { Document, visit } from "yaml";
import { ESCAPED_CHARACTERS } from "./unsafe_characters.ts";

/**
 * Objects as YAML documents. Text that another reader, above all the one of Go, could take for a
 * number, a date, a truth value or a line break is quoted, what a terminal would obey or a person
 * could not see is an escape, and every object is written out in full.
 */
export const toYaml = (objects: readonly object[]): string =>
  objects.map(documentText).join("---\n");

/** Readers differ in what counts as a number, so nothing that begins like one is left plain. */
const LIKE_NUMBER = /^[-+]?[.\d]/;
/** Blanks at the ends of lines get lost in a block of lines, and those before it set its indent. */
const LOST_BLANKS = /^\s| (?:\n|$)/;
/** Readers differ in how they fold them, and no line of a quoted text can pass for one of ours. */
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
  // By now these stand between double quotes only.
  return document.toString({ lineWidth: 0, ...NO_QUOTED_LINE_BREAKS })
    .replace(ESCAPED_CHARACTERS, escaped);
}

const escaped = (character: string): string => {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
};
