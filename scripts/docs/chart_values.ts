import { isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from "yaml";

/** One value of the chart that users set as a whole. */
export interface ChartValue {
  /** Such as `gateway.enabled`. */
  readonly path: string;
  readonly byDefault: unknown;
  /** The comment above it, as one line. */
  readonly meaning: string;
}

/**
 * The values in the text of a values.yaml, in its order. A map without a comment of its own is a
 * group, and its members are values; anything else must have a comment.
 */
export const chartValues = (text: string): readonly ChartValue[] => {
  const { contents, errors: [error] } = parseDocument(text);
  if (error) throw error;
  if (!isMap<Node, Node | null>(contents)) throw new Error("Cannot read the values: no map");
  return valuesIn(contents, []);
};

const valuesIn = (map: YAMLMap<Node, Node | null>, above: readonly string[]): ChartValue[] =>
  map.items.flatMap(({ key, value }, index) => {
    const path = [...above, isScalar(key) ? String(key.value) : ""];
    // The parser attaches the comment above the first key of a map to the map.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    if (isMap<Node, Node | null>(value) && !comment) return valuesIn(value, path);
    if (!comment) throw new Error(`Cannot read the values: "${path.join(".")}" has no comment`);
    return [{ path: path.join("."), byDefault: plain(value), meaning: oneLine(comment) }];
  });

const plain = (node: Node | null): unknown =>
  isMap(node) || isSeq(node) || isScalar(node) ? node.toJSON() : null;

const oneLine = (comment: string): string =>
  (comment.split(/\n\s*\n/).at(-1) ?? "").split("\n").map((line) => line.trim()).join(" ");
