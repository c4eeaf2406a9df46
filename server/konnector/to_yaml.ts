import { stringify } from "yaml";

/**
 * Objects as YAML documents. Text that readers of YAML 1.1, as in Go, would take for a number, a
 * date or a truth value is quoted, and every object is written out in full.
 */
export const toYaml = (objects: readonly object[]): string =>
  objects
    .map((object) =>
      stringify(object, { version: "1.1", aliasDuplicateObjects: false, lineWidth: 0 })
    )
    .join("---\n");
