import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Grant, GrantStatus } from "../../common/api/resources.ts";
import { failed, ISSUED, notExported, pending, statusUpdate } from "./grant_status.ts";

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

Deno.test("statusUpdate() writes where everything is, and the readiness for this generation", () => {
  assert.deepEqual(statusUpdate(grant(), ISSUED, NOW), {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name: "widgets-ada" },
    status: { ...PLACES, conditions: [ready({ lastTransitionTime: "2030-01-02T03:04:05Z" })] },
  });
});

Deno.test("statusUpdate() is silent when the Grant says so already", () => {
  const present = { ...PLACES, conditions: [stale, ready()] };
  assert.equal(statusUpdate(grant(present), ISSUED, NOW), undefined);
});

Deno.test("statusUpdate() leaves the conditions of others out", () => {
  const update = statusUpdate(grant({ conditions: [stale, ready()] }), ISSUED, NOW);
  assert.deepEqual(update?.status?.conditions, [ready()]);
});

Deno.test("statusUpdate() writes again when something differs", async (t) => {
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

Deno.test("statusUpdate() moves the time of transition only when the status changes", () => {
  const time = (present: Partial<Condition>, readiness = ISSUED) =>
    statusUpdate(grant({ conditions: [ready(present)] }), readiness, NOW)
      ?.status?.conditions?.[0]?.lastTransitionTime;
  assert.equal(time({ observedGeneration: 2 }), EARLIER);
  assert.equal(time({ status: "False" }), "2030-01-02T03:04:05Z");
  assert.equal(time({}, pending("its token")), "2030-01-02T03:04:05Z");
});

Deno.test("Readiness says why a Grant is not Ready", () => {
  assert.deepEqual(pending("its token"), {
    ready: false,
    reason: "Pending",
    message: "Waiting for its token",
  });
  assert.deepEqual(notExported(["a.example.org", "b.example.org"]), {
    ready: false,
    reason: "APINotExported",
    message: "These CRDs are missing or lack the label core.xbind.io/exported=true: " +
      "a.example.org, b.example.org",
  });
  assert.deepEqual(failed("why"), { ready: false, reason: "ProvisioningFailed", message: "why" });
});
