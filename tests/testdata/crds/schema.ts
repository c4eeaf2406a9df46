import { parse } from "yaml";
import type { CustomResourceDefinition } from "../../../common/api/resources.ts";

/** The parts of a structural schema that the tests look at. */
export interface SchemaNode {
  type?: string;
  description?: string;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  additionalProperties?: SchemaNode;
  required?: string[];
  enum?: string[];
}

/** A schema node with its place: `[]` stands for the items of a list, `{}` for the values of a map. */
export interface PlacedNode {
  path: string;
  /** The property it belongs to; items and map values belong to that of their list or map. */
  property: string;
  node: SchemaNode;
}

/** Where the definitions of this repository are. */
export const CRDS_FOLDER = new URL("../../../crds/", import.meta.url);

/** The definitions of this repository with their file names. */
export const readCrds = (): { file: string; crd: CustomResourceDefinition }[] =>
  [...Deno.readDirSync(CRDS_FOLDER)].map(({ name }) => name)
    .filter((name) => name.endsWith(".yaml"))
    .map((file) => ({
      file,
      crd: parse(Deno.readTextFileSync(new URL(file, CRDS_FOLDER))) as CustomResourceDefinition,
    }));

/** The schema of the one version a definition has. */
export const schemaOf = (crd: CustomResourceDefinition): SchemaNode =>
  crd.spec.versions[0]?.schema?.openAPIV3Schema ?? {};

/** Every node of a schema, the root first. */
export function* nodesOf(node: SchemaNode, path = "", property = ""): Generator<PlacedNode> {
  yield { path, property, node };
  if (node.items) yield* nodesOf(node.items, `${path}[]`, property);
  if (node.additionalProperties) yield* nodesOf(node.additionalProperties, `${path}{}`, property);
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    yield* nodesOf(child, `${path}.${name}`, name);
  }
}
