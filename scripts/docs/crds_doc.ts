import { code, markdownTable } from "./markdown_table.ts";

/** The part of a structural schema that the page shows. */
export interface Schema {
  readonly type: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly "x-kubernetes-validations"?: readonly { readonly message: string }[];
}

/** The part of a CustomResourceDefinition that the page shows. */
export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly additionalPrinterColumns?: readonly { readonly name: string }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const INTRODUCTION = `# Custom resources

Generated from the files in \`crds/\` by \`deno task docs\`; change them there. \`kubectl explain\` shows
the same texts, for example \`kubectl explain export.spec --recursive\`. The backend installs the
first three (\`--install-crds\`); the konnector's manifest brings the others to consumers. A field is
required when its parent is given.
`;

/** Providers' resources come first, in the order of use. */
const ORDER = ["Export", "Collection", "Grant", "Connection", "ClusterBinding", "Binding"];

/** The text of docs/crds.md. */
export const crdsDoc = (definitions: readonly Definition[]): string => {
  const rank = ({ spec }: Definition) => ORDER.indexOf(spec.names.kind);
  return [INTRODUCTION, ...definitions.toSorted((a, b) => rank(a) - rank(b)).map(section)]
    .join("\n");
};

const section = ({ metadata, spec }: Definition): string =>
  spec.versions.map(({ name, schema, additionalPrinterColumns = [] }) => {
    const { openAPIV3Schema: root } = schema;
    const { kind, shortNames = [] } = spec.names;
    const facts = [
      `\`apiVersion: ${spec.group}/${name}\``,
      spec.scope === "Cluster" ? "cluster-scoped" : "namespaced",
      `CRD ${code(metadata.name)}`,
      ...shortNames.length > 0 ? [`short name ${shortNames.map(code).join(", ")}`] : [],
      `columns ${additionalPrinterColumns.map((column) => column.name).join(", ")}`,
    ];
    const table = markdownTable(["Field", "Type", "Required", "Description"], [...rows(root, "")]);
    const head = [root.description ?? "", ...rulesOf(root).map((message) => `Rule: ${message}.`)];
    return `## ${kind}\n\n${head.join(" ")}\n\n${facts.join("; ")}.\n\n${table}`;
  }).join("\n");

/** One row per field, parents before children. */
function* rows(schema: Schema, path: string): Generator<string[]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = path === "" ? name : `${path}.${name}`;
    const required = schema.required?.includes(name) ? "yes" : "";
    yield [code(at), typeText(field), required, meaning(field)];
    yield* rows(innermost(field), at + suffix(field));
  }
}

const innermost = (schema: Schema): Schema => {
  const inner = schema.items ?? schema.additionalProperties;
  return inner ? innermost(inner) : schema;
};

const suffix = ({ items, additionalProperties }: Schema): string => {
  if (items) return `[]${suffix(items)}`;
  return additionalProperties ? `.<key>${suffix(additionalProperties)}` : "";
};

const typeText = ({ type, format, items, additionalProperties }: Schema): string => {
  if (items) return `list of ${typeText(items)}`;
  if (additionalProperties) return `map of ${typeText(additionalProperties)}`;
  return format === "date-time" ? "time" : type;
};

const meaning = (schema: Schema): string => {
  const { description = "", default: preset } = schema;
  const { enum: allowed } = innermost(schema);
  return [
    description.trim(),
    ...allowed ? [`One of ${allowed.map((value) => code(JSON.stringify(value))).join(", ")}.`] : [],
    ...preset === undefined ? [] : [`Default: ${code(JSON.stringify(preset))}.`],
    ...rulesOf(schema).map((message) => `Rule: ${message}.`),
  ].join(" ");
};

/** The rules of a field, and of a list's items, which have no row of their own. */
const rulesOf = (schema: Schema): string[] => {
  const inner = schema.items ?? schema.additionalProperties;
  const own = (schema["x-kubernetes-validations"] ?? []).map(({ message }) => message);
  return [...own, ...inner ? rulesOf(inner) : []];
};
