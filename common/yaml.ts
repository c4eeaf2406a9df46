import { Composer, type CST, Document, Lexer, Parser, visit } from "yaml";
import { ESCAPED_CHARACTERS } from "./unsafe_characters.ts";

/**
 * Writes objects as YAML documents, without aliases. Quotes text that another parser, above all
 * Go's, could read as a number, a date, a boolean or a line break. Escapes control characters and
 * invisible ones.
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

/** A text that is refused. The message says why. */
export class UntrustedYamlError extends Error {
  override readonly name = "UntrustedYamlError";
}

/** Enough for thousands of lines, and too few to block the process. */
const MAX_LEXEMES = 20_000;
const MAX_DEPTH = 24;

/** Silent, because the parser's warnings on stderr quote the text. */
const QUIET = { uniqueKeys: false, logLevel: "silent" } as const;

/**
 * Parses one YAML document from an untrusted source. The caller limits its size. Refuses aliases,
 * deep nesting and very many parts, which make parsers slow.
 */
export function parseUntrustedYaml(text: string): unknown {
  const composer = new Composer(QUIET);
  const documents = [...composer.compose(boundedTokens(text))];
  const [document] = documents;
  if (!document) throw new UntrustedYamlError("it is empty");
  if (documents.length > 1) throw new UntrustedYamlError("it holds several YAML documents");
  if (document.errors.length > 0) throw new UntrustedYamlError("it is not valid YAML");
  refuseAliases(document);
  return document.toJS({ maxAliasCount: 0 });
}

/** Limits depth before the tree is built, because building it is recursive. */
function boundedTokens(text: string): CST.Token[] {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (++lexemes > MAX_LEXEMES) throw new UntrustedYamlError("it has too many parts");
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) throw new UntrustedYamlError("it is nested too deeply");
  }
  tokens.push(...parser.end());
  return tokens;
}

function refuseAliases(document: Document.Parsed): void {
  visit(document, {
    Alias() {
      throw new UntrustedYamlError("it uses YAML aliases");
    },
  });
}
