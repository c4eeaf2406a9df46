import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Grant, GrantStatus } from "../../common/api/resources.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import {
  failed,
  faultMessage,
  foreignObject,
  ISSUED,
  notExported,
  pending,
  ProvisioningFault,
  statusUpdate,
} from "./grant_status.ts";

const NOW = new Date("2030-01-02T03:04:05.678Z");
const EARLIER = "2029-01-01T00:00:00Z";
const PLACES = {
  namespace: "xbind-1e2b05bb961197f0952d",
  serviceAccount: "widgets-ada",
  tokenSecret: "widgets-ada-token",
};

const grant = (status?: GrantStatus, generation: number | undefined = 3): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "widgets-ada", ...(generation && { generation }) },
  spec: {
    identity: { subject: "https://idp.example.org#ada" },
    exportName: "widgets",
    apis: [{ name: "widgets.example.org" }],
  },
  ...(status && { status }),
});

const ready = (edit: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "Credentials are issued",
  lastTransitionTime: EARLIER,
  observedGeneration: 3,
  ...edit,
});

const stale: Condition = { ...ready(), type: "Stale", status: "False" };

Deno.test("statusUpdate() writes the names of the objects, and the readiness of this generation", () => {
  assert.deepEqual(statusUpdate(grant(), ISSUED, NOW), {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name: "widgets-ada" },
    status: { ...PLACES, conditions: [ready({ lastTransitionTime: "2030-01-02T03:04:05Z" })] },
  });
});

Deno.test("statusUpdate() returns nothing if the Grant has this status", () => {
  const present = { ...PLACES, conditions: [stale, ready()] };
  assert.equal(statusUpdate(grant(present), ISSUED, NOW), undefined);
});

Deno.test("statusUpdate() leaves out the conditions of other writers", () => {
  const update = statusUpdate(grant({ conditions: [stale, ready()] }), ISSUED, NOW);
  assert.deepEqual(update?.status?.conditions, [ready()]);
});

Deno.test("statusUpdate() returns an update for every difference", async (t) => {
  const table: Record<string, GrantStatus> = {
    "the generation": { ...PLACES, conditions: [ready({ observedGeneration: 2 })] },
    "the message": { ...PLACES, conditions: [ready({ message: "?" })] },
    "the reason": { ...PLACES, conditions: [ready({ reason: "Other" })] },
    "a place": { ...PLACES, tokenSecret: "other", conditions: [ready()] },
    "a missing place": { namespace: PLACES.namespace, conditions: [ready()] },
    "everything": {},
  };
  for (const [what, status] of Object.entries(table)) {
    await t.step(what, () => {
      const update = statusUpdate(grant(status), ISSUED, NOW);
      const { conditions: [written] = [], ...places } = update?.status ?? {};
      assert.deepEqual(places, PLACES);
      assert.deepEqual({ ...written, lastTransitionTime: EARLIER }, ready());
    });
  }
});

Deno.test("statusUpdate() changes the transition time only with the status", () => {
  const time = (present: Partial<Condition>, readiness = ISSUED) =>
    statusUpdate(grant({ conditions: [ready(present)] }), readiness, NOW)
      ?.status?.conditions?.[0]?.lastTransitionTime;
  assert.equal(time({ observedGeneration: 2 }), EARLIER);
  assert.equal(time({ status: "False" }), "2030-01-02T03:04:05Z");
  assert.equal(time({}, pending("its token")), "2030-01-02T03:04:05Z");
});

Deno.test("Readiness says why a Grant is not Ready", () => {
  const waiting = { ready: false, reason: "Pending", message: "Waiting for its token" };
  assert.deepEqual(pending("its token"), waiting);
  assert.deepEqual(notExported(["a.example.org", "b.example.org"]), {
    ready: false,
    reason: "APINotExported",
    message: "These CRDs are missing or lack the label core.xbind.io/exported=true: " +
      "a.example.org, b.example.org",
  });
  assert.deepEqual(failed("why"), { ready: false, reason: "ProvisioningFailed", message: "why" });
});

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

Deno.test("faultMessage() returns a message only for errors that a retry cannot fix", async (t) => {
  const told: Record<string, Error> = {
    "a fault": new ProvisioningFault("why"),
    "a refusal": answered(403, "Forbidden"),
    "an object that is not valid": answered(422, "Invalid"),
    "a bad request": answered(400, "BadRequest"),
  };
  for (const [what, error] of Object.entries(told)) {
    await t.step(`for ${what}`, () => assert.equal(faultMessage(error), error.message));
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
    await t.step(`not for ${what}`, () => assert.equal(faultMessage(error), undefined));
  }
});
