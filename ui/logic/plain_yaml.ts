/** Is a parsed YAML value: a text, a mapping or a list. */
export type PlainYaml = string | PlainYaml[] | { [key: string]: PlainYaml };

interface Line {
  readonly indent: number;
  readonly text: string;
}

const ENTRY = /^(?:"([^"]*)"|'([^']*)'|([^\s"'#{[][^:]*?))\s*:(?:\s+(.*))?$/;
const ITEM = /^-(?:\s+(.*))?$/;
const MAX_DEPTH = 50;

/**
 * Parses the simple YAML of kubeconfigs (and JSON), enough to show users what a file says. Skips
 * lines that it does not understand, because no decision depends on the result.
 */
export function readPlainYaml(text: string): PlainYaml {
  try {
    return JSON.parse(text, (_key, value) => isContainer(value) ? value : String(value));
  } catch {
    return new Reader(text).node(0, 0);
  }
}

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;

class Reader {
  readonly #lines: Line[];
  #at = 0;

  constructor(text: string) {
    this.#lines = text.split(/\r?\n/)
      .filter((line) => !/^\s*(?:#.*)?$/.test(line) && !/^(?:---|\.\.\.|%)/.test(line))
      .map((line) => ({ indent: line.search(/\S/), text: line.trim() }));
  }

  /** Parses the list or mapping that starts at the current line, if it is indented enough. */
  node(minIndent: number, depth: number): PlainYaml {
    const first = this.#lines[this.#at];
    if (!first || first.indent < minIndent || depth > MAX_DEPTH) return "";
    return ITEM.test(first.text) ? this.#list(first.indent, depth) : this.#mapping(first, depth);
  }

  #list(indent: number, depth: number): PlainYaml[] {
    const items: PlainYaml[] = [];
    for (let line = this.#lines[this.#at]; line; line = this.#lines[this.#at]) {
      const item = ITEM.exec(line.text);
      if (line.indent < indent || (line.indent === indent && !item)) break;
      if (line.indent > indent || !item) {
        this.#at++;
        continue;
      }
      const rest = item[1] ?? "";
      if (ENTRY.test(rest) || ITEM.test(rest)) {
        // The text after the dash is the first line of the item.
        this.#lines[this.#at] = { indent: indent + line.text.indexOf(rest), text: rest };
        items.push(this.node(indent + 1, depth + 1));
      } else {
        this.#at++;
        items.push(rest ? scalar(rest) : this.node(indent + 1, depth + 1));
      }
    }
    return items;
  }

  #mapping({ indent }: Line, depth: number): PlainYaml {
    const mapping: { [key: string]: PlainYaml } = Object.create(null);
    for (let line = this.#lines[this.#at]; line; line = this.#lines[this.#at]) {
      if (line.indent < indent || (line.indent === indent && ITEM.test(line.text))) break;
      this.#at++;
      const entry = line.indent === indent ? ENTRY.exec(line.text) : null;
      if (!entry) continue; // part of a multi-line text, or unknown syntax
      const key = entry[1] ?? entry[2] ?? entry[3] ?? "";
      const value = withoutComment(entry[4] ?? "");
      mapping[key] = value ? scalar(value) : this.#below(indent, depth);
    }
    return mapping;
  }

  /** Parses the value of a key without inline value: deeper lines, or an unindented list. */
  #below(indent: number, depth: number): PlainYaml {
    const next = this.#lines[this.#at];
    const isFlatList = next?.indent === indent && ITEM.test(next.text);
    return this.node(isFlatList ? indent : indent + 1, depth + 1);
  }
}

const withoutComment = (text: string): string =>
  /^["']/.test(text) ? text : text.replace(/(?:^|\s)#.*$/, "").trim();

const scalar = (text: string): string => /^(["'])(.*?)\1/.exec(text)?.[2] ?? text;
