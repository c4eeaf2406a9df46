import assert from "node:assert/strict";
import { condition, type Connection } from "../../common/api/resources.ts";
import { connectionStatus, type ConnectionView } from "./connection_status.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

const connection = (spec: Partial<Connection["spec"]> = {}, status = {}): Connection => ({
  apiVersion: "core.xbind.io/v1alpha1",
  kind: "Connection",
  metadata: { name: "c", generation: 2 },
  spec: { kubeconfigSecretRef: { namespace: "xbind", name: "s" }, ...spec },
  status,
});

const known: ConnectionView = { localUid: "l", remoteUid: "r", exportedApis: [], schemaFaults: [] };

/** Status, reason and message of a condition. */
function judged(type: string, view: ConnectionView, before = connection()) {
  const status = connectionStatus(before, view, NOW);
  const found = condition({ ...before, status }, type);
  return found && [found.status, found.reason, found.message];
}

Deno.test("SchemaInSync says why a CRD differs from the provider's", () => {
  assert.deepEqual(judged("SchemaInSync", known), ["True", "AsExpected", ""]);
  const fault = { reason: "SchemaIncompatible", message: "a changed" };
  assert.deepEqual(judged("SchemaInSync", { ...known, schemaFaults: [fault] }), [
    "False",
    "SchemaIncompatible",
    "a changed",
  ]);
  const [status, reason, message = ""] = judged("SchemaInSync", {
    ...known,
    withdrawn: ["b", "c"],
    deleted: ["d"],
    schemaFaults: [fault],
  }) ?? [];
  assert.deepEqual([status, reason], ["False", "APINotExported"]);
  assert.match(message, /exports b, c; .*synced\. .*has d; .*not synced\. a changed$/);
});

Deno.test("SchemaInSync stays as it was until every API was checked", () => {
  const looking = { ...known, schemaFaults: undefined };
  assert.deepEqual(judged("SchemaInSync", looking), ["Unknown", "Pending", ""]);
  const fault = { reason: "SchemaIncompatible", message: "a changed" };
  const before = connection();
  before.status = connectionStatus(before, { ...known, schemaFaults: [fault] }, NOW);
  assert.deepEqual(judged("SchemaInSync", looking, before), [
    "False",
    "SchemaIncompatible",
    "a changed",
  ]);
});

Deno.test("a schema that is out of date leaves a Connection Ready", () => {
  const schemaFaults = [{ reason: "SchemaIncompatible", message: "a changed" }];
  assert.equal(judged("Ready", { ...known, schemaFaults })?.[0], "True");
});

Deno.test("AutoBound is there only with autoBind", () => {
  assert.equal(judged("AutoBound", { ...known, autoBound: "done" }), undefined);
  const auto = connection({ autoBind: true });
  assert.equal(judged("AutoBound", { ...known, autoBound: "done" }, auto)?.[0], "True");
  assert.deepEqual(judged("AutoBound", known, auto), ["Unknown", "Pending", ""]);
  const autoBound = { reason: "TooManyAPIs", message: "too many" };
  assert.deepEqual(judged("AutoBound", { ...known, autoBound }, auto), [
    "False",
    "TooManyAPIs",
    "too many",
  ]);
});
