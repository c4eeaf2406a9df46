import assert from "node:assert/strict";
import { KubeError } from "../../common/kube/kube_error.ts";
import { faultMessage, foreignObject, ProvisioningFault } from "./provisioning_fault.ts";

const answered = (status: number, reason: string): KubeError =>
  new KubeError(`Cannot do it: ${reason}`, { status, reason });

Deno.test("foreignObject() names the object, the label and the remedy", () => {
  const metadata = { name: "widgets-ada", namespace: "xbind-1" };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  const label = "iam.xbind.io/grant=widgets-ada";
  assert.equal(
    foreignObject(account, label).message,
    'ServiceAccount "xbind-1/widgets-ada" exists and does not carry the label ' +
      "iam.xbind.io/grant=widgets-ada: remove or rename it",
  );
  const role = { apiVersion: "v1", kind: "ClusterRole", metadata: { name: "xbind:grant:a" } };
  assert.match(foreignObject(role, label).message, /^ClusterRole "xbind:grant:a" exists/);
});

Deno.test("faultMessage() tells what waiting will not mend, and nothing else", async (t) => {
  const told: Record<string, unknown> = {
    "a fault": new ProvisioningFault("why"),
    "a refusal": answered(403, "Forbidden"),
    "an object that is not valid": answered(422, "Invalid"),
    "a bad request": answered(400, "BadRequest"),
  };
  for (const [what, error] of Object.entries(told)) {
    await t.step(`tells of ${what}`, () => {
      assert.equal(faultMessage(error), (error as Error).message);
    });
  }
  const passing: Record<string, unknown> = {
    "a conflict": answered(409, "Conflict"),
    "an object that appeared": answered(409, "AlreadyExists"),
    "an object that vanished": answered(404, "NotFound"),
    "an expired token of ours": answered(401, "Unauthorized"),
    "a busy server": answered(429, "TooManyRequests"),
    "a broken server": answered(500, "InternalError"),
    "a server that does not answer": answered(0, "ConnectionLost"),
    "a bug": new TypeError("x is not a function"),
    "anything thrown": "text",
  };
  for (const [what, error] of Object.entries(passing)) {
    await t.step(`keeps quiet about ${what}`, () => {
      assert.equal(faultMessage(error), undefined);
    });
  }
});
