import assert from "node:assert/strict";
import { crdsDoc, type Definition, type Schema } from "./crds_doc.ts";
import { crdsText } from "./crds_json.ts";

const definition = (properties: Record<string, Schema>, required: string[] = []): Definition => ({
  metadata: { name: "things.example.org" },
  spec: {
    group: "example.org",
    scope: "Cluster",
    names: { kind: "Thing", shortNames: ["th"] },
    versions: [{
      name: "v1",
      additionalPrinterColumns: [{ name: "Age" }],
      schema: {
        openAPIV3Schema: { type: "object", description: "A thing.", properties, required },
      },
    }],
  },
});

Deno.test("crdsDoc() has a described row for every field of every resource", async () => {
  const definitions: Definition[] = Object.values(JSON.parse(await crdsText()));
  assert.equal(definitions.length, 6);
  const rows = crdsDoc(definitions).split("\n").filter((line) => line.startsWith("| `"));
  const fields = (schema: Schema): number => {
    const inner = schema.items ?? schema.additionalProperties;
    const own = Object.values(schema.properties ?? {});
    return own.length + own.reduce((sum, field) => sum + fields(field), 0) +
      (inner ? fields(inner) : 0);
  };
  const expected = definitions.flatMap(({ spec }) => spec.versions)
    .reduce((sum, { schema }) => sum + fields(schema.openAPIV3Schema), 0);
  assert.equal(rows.length, expected);
  for (const row of rows) assert.match(row, /\| [A-Z].{10,} \|$/, row);
});

Deno.test("crdsDoc() tells path, type, whether it is required, choices, defaults and rules", () => {
  const doc = crdsDoc([definition({
    spec: {
      type: "object",
      description: "All of it.",
      required: ["mode"],
      properties: {
        mode: { type: "string", description: "How.", enum: ["A", "B"], default: "A" },
        parts: {
          type: "array",
          description: "What of.",
          items: {
            type: "object",
            properties: { at: { type: "string", format: "date-time", description: "When." } },
            "x-kubernetes-validations": [{ message: "parts do not change" }],
          },
        },
        notes: { type: "object", description: "By key.", additionalProperties: { type: "string" } },
      },
    },
  }, ["spec"])]);
  const [, head = "", table = ""] = /\n## Thing\n\n([^]*?)\n\n(\|[^]*)$/.exec(doc) ?? [];
  assert.equal(
    head,
    "A thing.\n\n`apiVersion: example.org/v1`; cluster-scoped; CRD `things.example.org`; " +
      "short name `th`; columns Age.",
  );
  const cells = table.trim().split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  assert.deepEqual(cells.slice(2).map((row) => row.slice(1, -1)), [
    ["`spec`", "object", "yes", "All of it."],
    ["`spec.mode`", "string", "yes", 'How. One of `"A"`, `"B"`. Default: `"A"`.'],
    ["`spec.parts`", "list of object", "", "What of. Rule: parts do not change."],
    ["`spec.parts[].at`", "time", "", "When."],
    ["`spec.notes`", "map of string", "", "By key."],
  ]);
});
