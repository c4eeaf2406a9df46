import { Composer, type CST, type Document, Lexer, Parser, visit } from "yaml";

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
