import assert from "node:assert/strict";
import { APPLY_REQUEST, BIND_REQUEST } from "../../../common/api/wire.ts";
import type { Shape } from "../../../common/shape.ts";
import { parseBody } from "./parse_body.ts";

Deno.test("parseBody() accepts", async (t) => {
  const CASES: [string, Shape<unknown>, unknown, unknown][] = [
    ["a bind", BIND_REQUEST, { export: "pg" }, { export: "pg" }],
    ["unknown fields, which it drops", BIND_REQUEST, { export: "pg", x: 1 }, { export: "pg" }],
    [
      "an apply of the konnector only",
      APPLY_REQUEST,
      { kubeconfig: "eA==", installKonnector: true },
      { kubeconfig: "eA==", installKonnector: true },
    ],
    ["an empty export in apply", APPLY_REQUEST, { kubeconfig: "eA==", export: "" }, {
      kubeconfig: "eA==",
      export: "",
    }],
  ];
  for (const [name, schema, body, expected] of CASES) {
    await t.step(name, () => assert.deepEqual(parseBody(schema, body), expected));
  }
});

Deno.test("parseBody() refuses with 400 and names the field", async (t) => {
  const CASES: [unknown, Shape<unknown>, RegExp][] = [
    [null, BIND_REQUEST, /not a JSON object/],
    [[], BIND_REQUEST, /not a JSON object/],
    ["pg", BIND_REQUEST, /not a JSON object/],
    [{}, BIND_REQUEST, /"export" is missing/],
    [{ export: "" }, BIND_REQUEST, /"export" is missing/],
    [{ export: 7 }, BIND_REQUEST, /"export" is not a string/],
    [{ export: null }, BIND_REQUEST, /"export" is not a string/],
    [{ __proto__: { export: "pg" }, kubeconfig: "" }, APPLY_REQUEST, /"kubeconfig" is missing/],
    [{ kubeconfig: "eA==", installKonnector: "yes" }, APPLY_REQUEST, /not a boolean/],
    [{ kubeconfig: "eA==", export: null }, APPLY_REQUEST, /"export" is not a string/],
  ];
  for (const [body, schema, message] of CASES) {
    await t.step(JSON.stringify(body), () => {
      assert.throws(() => parseBody(schema, body), { code: "INVALID_REQUEST", message });
    });
  }
});
