import assert from "node:assert/strict";
import { CliError } from "../cli_error.ts";
import { offerIn } from "./offer_in.ts";

Deno.test("offerIn() finds an Export, suggests a similar one, and else returns undefined", () => {
  const widgets = { name: "widgets", title: "Widgets", apis: [] };
  assert.equal(offerIn({ exports: [widgets] }, "widgets"), widgets);
  assert.equal(offerIn({ exports: [widgets] }, "unready"), undefined);
  assert.equal(offerIn({ exports: [] }, "widgets"), undefined);
  assert.throws(() => offerIn({ exports: [widgets] }, "widgetz"), (error) => {
    assert.ok(error instanceof CliError && error.failure === "notFound");
    assert.match(error.remedy ?? "", /^Did you mean "widgets"\?/);
    return true;
  });
});
