import { parse } from "yaml";
import type { CustomResourceDefinition } from "../../../common/api/resources.ts";

/** The parts of a structural schema that tests read. */
export interface SchemaNode {
  type?: string;
  description?: string;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  additionalProperties?: SchemaNode;
  required?: string[];
  enum?: string[];
}

/** A schema node with its path: `[]` stands for list items, `{}` for map values. */
export interface PlacedNode {
  path: string;
  /** The property of the node. Items and map values have the property of their list or map. */
  property: string;
  node: SchemaNode;
}

/** The folder of this repository's CRDs. */
export const CRDS_FOLDER = new URL("../../../crds/", import.meta.url);

/** The CRDs of this repository with their file names. */
export const readCrds = (): { file: string; crd: CustomResourceDefinition }[] =>
  [...Deno.readDirSync(CRDS_FOLDER)].map(({ name }) => name)
    .filter((name) => name.endsWith(".yaml"))
    .map((file) => ({
      file,
      crd: parse(Deno.readTextFileSync(new URL(file, CRDS_FOLDER))) as CustomResourceDefinition,
    }));

/** Returns the schema of a CRD's only version. */
export const schemaOf = (crd: CustomResourceDefinition): SchemaNode =>
  crd.spec.versions[0]?.schema?.openAPIV3Schema ?? {};

/** Yields every node of a schema, the root first. */
export function* nodesOf(node: SchemaNode, path = "", property = ""): Generator<PlacedNode> {
  yield { path, property, node };
  if (node.items) yield* nodesOf(node.items, `${path}[]`, property);
  if (node.additionalProperties) yield* nodesOf(node.additionalProperties, `${path}{}`, property);
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    yield* nodesOf(child, `${path}.${name}`, name);
  }
}
