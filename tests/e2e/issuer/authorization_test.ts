import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  condition,
  CRDS,
  type Grant,
  GRANTS,
  isReady,
  LEASES,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import { grantName, LABELS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { Authorizer } from "../../../server/authorization/authorizer.ts";
import { sweepAuthorization } from "../../../server/issuer/authorization_sweep.ts";
import { grantCache } from "../../../server/provider/caches.ts";
import { boundaryOf, customType, subjectOf, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { running } from "../../support/planes/kube.ts";
import { sealedSubject } from "../../support/planes/sealed_sessions.ts";
import {
  AuthorizationWorld,
  GATEWAY_RIGHTS,
  userName,
} from "../../support/worlds/authorization_world.ts";
import { accessOf } from "../../support/worlds/issued_access.ts";

const world = await AuthorizationWorld.start([
  "--authorization=Kubernetes",
  "--authorization-revoke",
  "--reaper-interval=1h", // the tests sweep themselves
]);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider: { kube }, sessions } = world;

const PREFIXES = { authorizationUserPrefix: "xbind:", authorizationGroupPrefix: "xbind:" };
const BRAKE = { authorizationRevoke: true, reaperHoldPercent: 20, reaperMaxPercent: 10 };
const LATER_MS = 60_000;

/** Sweeps once with fresh answers, as the leader does once a minute. */
async function sweep(config: Partial<typeof BRAKE> = {}, laterMs = 0) {
  const grants = grantCache();
  await using _running = await running(grants, kube);
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
  });
  const counts = await sweepAuthorization({
    kube,
    grants,
    authorizer: new Authorizer({ kube, prefixes: PREFIXES }),
    config: { ...BRAKE, ...config },
    recordEvent: () => {},
    log,
    nowMs: () => Date.now() + laterMs,
  }, AbortSignal.timeout(60_000));
  return counts ?? assert.fail("the Grants are not known");
}

const read = (name: string): Promise<Grant> => kube.get(GRANTS, { name });
const authorized = async (name: string) => condition(await read(name), "Authorized");

Deno.test("a Grant loses its rights with the permission, and gets them back", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  await world.allow("gil", ["get", "bind"], ["widgets"], `--user=${userName("gil")}`);
  const token = await sessions.seal("gil");
  await gateway.bind(token, "widgets");
  const name = grantName("widgets", sealedSubject("gil"));
  const grant = await read(name);
  using consumer = await accessOf(world.plane, kube, grant);
  const mayList = () =>
    consumer.kube.list(customType(WIDGETS)).then(() => true, (error) => {
      assert.equal(error.reason, "Forbidden");
      return false;
    });
  await eventually("it has rights", mayList);

  await t.step("a sweep at rest writes nothing", async () => {
    const before = await read(name);
    assert.equal((await sweep()).lost, 0);
    assert.deepEqual(await read(name), before);
  });
  await world.forbid("gil");
  await t.step("a lost permission is shown first", async () => {
    await eventually("the sweep notices", async () => (await sweep()).lost === 1);
    assert.equal((await authorized(name))?.reason, "PermissionLost");
    assert.ok(isReady(await read(name)));
    assert.ok(await mayList());
  });
  await t.step("without --authorization-revoke the Grant keeps its rights", async () => {
    await sweep({ authorizationRevoke: false }, LATER_MS);
    assert.match((await authorized(name))?.message ?? "", /keeps its rights/);
    assert.ok(await mayList());
  });
  await t.step("with it, the issuer takes the rights away", async () => {
    await sweep({}, LATER_MS);
    assert.equal((await authorized(name))?.reason, "Revoked");
    await eventually("the rights are gone", async () => !await mayList());
    const ready = await eventually("the Grant says so", async () => {
      const found = condition(await read(name), "Ready");
      return found?.status === "False" && found;
    });
    assert.equal(ready.reason, "NotAuthorized");
  });
  await t.step("account, token and heartbeats stay", async () => {
    const namespace = boundaryOf(grant);
    assert.ok(await kube.find(SERVICE_ACCOUNTS, { name, namespace }));
    await consumer.kube.list(LEASES, { namespace });
  });
  await t.step("a bind gets the rights back at once, without a sweep", async () => {
    await world.allow("gil", ["get", "bind"], ["widgets"], `--user=${userName("gil")}`);
    await eventually("gil may bind", async () => {
      const answer = await gateway.tryBind(token, "widgets");
      await answer.body?.cancel();
      return answer.status === 200;
    });
    assert.equal((await authorized(name))?.status, "True");
    await eventually("the rights are back", mayList);
    assert.ok(isReady(await read(name)));
  });
  await t.step("so does a sweep", async () => {
    await world.forbid("gil");
    await eventually("the sweep notices", async () => (await sweep()).lost === 1);
    await sweep({}, LATER_MS);
    await eventually("the rights are gone", async () => !await mayList());
    await label(null); // what was granted stays granted, as without a revocation
    await world.allow("gil", ["get", "bind"], ["widgets"], `--user=${userName("gil")}`);
    await eventually("the sweep notices", async () => {
      await sweep();
      return (await authorized(name))?.status === "True";
    });
    await eventually("the rights are back", mayList);
    await eventually("the Grant is Ready", async () => isReady(await read(name)));
    await label("true");
  });
});

/** Labels the CRD for export, or takes the label away. */
const label = (exported: "true" | null) =>
  world.provider.edit(CRDS, { name: WIDGETS }, {
    metadata: { labels: { [LABELS.exported]: exported } },
  });

/** Lets no status of this Grant be written, until it is disposed. */
async function frozen(name: string): Promise<AsyncDisposable> {
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "frozen" },
    spec: {
      matchConstraints: {
        resourceRules: [{
          apiGroups: ["iam.xbind.io"],
          apiVersions: ["*"],
          operations: ["UPDATE"],
          resources: ["grants/status"],
        }],
      },
      validations: [{ expression: `object.metadata.name != "${name}"` }],
    },
  };
  const binding = {
    apiVersion: policy.apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "frozen" },
    spec: { policyName: "frozen", validationActions: ["Deny"] },
  };
  const stdin = `${JSON.stringify(policy)}\n---\n${JSON.stringify(binding)}`;
  const { code, stderr } = await world.plane.kubectl(["create", "-f", "-"], { stdin });
  assert.equal(code, 0, stderr);
  const probe = ["patch", "grant", name, "--subresource=status", "--dry-run=server"];
  const patch = ["--type=merge", "-p", JSON.stringify({ status: { namespace: "x" } })];
  const isFrozen = async () => (await world.plane.kubectl([...probe, ...patch])).code !== 0;
  await eventually("the policy is in effect", isFrozen);
  const kinds = "validatingadmissionpolicybinding,validatingadmissionpolicy";
  return {
    [Symbol.asyncDispose]: async () => {
      await world.kubectl("delete", kinds, "frozen");
      await eventually("the policy is gone", async () => !await isFrozen());
    },
  };
}

Deno.test("when many lose the permission together, nothing is revoked", async (t) => {
  const names: string[] = [];
  for (let i = 0; i < 8; i++) {
    const { metadata } = await world.provider.grant({ subject: subjectOf(`crowd-${i}`) });
    names.push(metadata.name);
  }
  const reasons = async () =>
    (await Promise.all(names.map(authorized))).map((found) => found?.reason ?? "none");
  const revoked = async () => (await reasons()).filter((reason) => reason === "Revoked").length;
  for (const name of names) {
    await eventually(`${name} is Ready`, async () => isReady(await read(name)));
  }
  await t.step("one Grant that cannot be written does not stop the others", async () => {
    await using _frozen = await frozen(names[0] ?? "");
    assert.equal((await sweep()).failed, 1);
    assert.deepEqual(await reasons(), ["none", ...Array(7).fill("PermissionLost")]);
  });
  await t.step("a hold", async () => {
    assert.ok((await sweep()).isHeld);
    assert.ok((await sweep({}, LATER_MS)).isHeld);
    assert.equal(await revoked(), 0);
    assert.match((await authorized(names[0] ?? ""))?.message ?? "", /on hold/);
  });
  await t.step("without the hold, five in one sweep", async () => {
    await sweep({ reaperHoldPercent: 100 }, LATER_MS);
    assert.equal(await revoked(), 5);
    await sweep({ reaperHoldPercent: 100 }, LATER_MS);
    assert.equal(await revoked(), 8);
  });
});
