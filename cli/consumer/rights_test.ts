import assert from "node:assert/strict";
import { CONSUMER_NAMESPACE } from "../../common/api/names.ts";
import { rightText } from "../../common/kube/rights.ts";
import { bundleNamed } from "./check_bundle.ts";
import { rightsToApply } from "./rights.ts";

Deno.test("rightsToApply() lists each right once", () => {
  const rights = rightsToApply([...bundleNamed("a"), ...bundleNamed("a")]);
  assert.deepEqual(rights.map(rightText), [
    `create secrets in namespace "${CONSUMER_NAMESPACE}"`,
    `patch secrets in namespace "${CONSUMER_NAMESPACE}"`,
    "create connections.core.xbind.io",
    "patch connections.core.xbind.io",
    "create clusterbindings.core.xbind.io",
    "patch clusterbindings.core.xbind.io",
  ]);
  const named = rights.map(({ verb, name }) => `${verb} ${name ?? ""}`);
  assert.deepEqual(new Set(named), new Set(["create ", "patch a"])); // what is new has no name yet
});
