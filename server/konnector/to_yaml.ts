import { Document, visit } from "yaml";

/**
 * Objects as YAML documents. Text that another reader, above all the one of Go, could take for a
 * number, a date, a truth value or a line break is quoted, and every object is written out in full.
 */
export const toYaml = (objects: readonly object[]): string =>
  objects.map(documentText).join("---\n");

/** Readers differ in what counts as a number, so nothing that begins like one is left plain. */
const LIKE_NUMBER = /^[-+]?[.\d]/;
/** Line breaks to some, forbidden to others, invisible or able to turn text around for people. */
const UNSAFE = /[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

function documentText(object: object): string {
  const document = new Document(object, { version: "1.1", aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar;
      if (typeof value !== "string") return;
      if (LIKE_NUMBER.test(value) || value.search(UNSAFE) >= 0) scalar.type = "QUOTE_DOUBLE";
    },
  });
  // By now these stand between double quotes only.
  return document.toString({ lineWidth: 0 }).replace(UNSAFE, escaped);
}

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
