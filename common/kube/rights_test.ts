import assert from "node:assert/strict";
import { rightText } from "./rights.ts";

Deno.test("rightText() names the group, the part and the place", () => {
  const secrets = { verb: "list", group: "", resource: "secrets" };
  const widgets = { verb: "patch", group: "example.org", resource: "widgets" };
  assert.equal(rightText(secrets), "list secrets");
  assert.equal(rightText({ ...secrets, namespace: "xbind" }), 'list secrets in namespace "xbind"');
  assert.equal(rightText({ ...widgets, name: "a" }), "patch widgets.example.org");
  assert.equal(
    rightText({ ...widgets, subresource: "status" }),
    "patch widgets.example.org/status",
  );
});
