import { Composer, type CST, type Document, Lexer, Parser, visit } from "yaml";

/** Text that is refused before it can cost much time; the message says why. */
export class UntrustedYamlError extends Error {
  override readonly name = "UntrustedYamlError";
}

/** Thousands of lines; far below what would hold up the process. */
const MAX_LEXEMES = 20_000;
const MAX_DEPTH = 24;

/** Unless told, the parser writes warnings to stderr, and they quote what strangers sent. */
const QUIET = { uniqueKeys: false, logLevel: "silent" } as const;

/**
 * The value of one YAML document from a stranger, whose size the caller has limited. Refuses what
 * makes parsers slow or deep: aliases, deep nesting, very many parts.
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

/** Building the tree is recursive, so depth is limited while the text is still a flat stream. */
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
