import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { LABELS } from "../../../common/api/names.ts";
import { CRDS, type Grant, GRANTS, NAMESPACES, SECRETS } from "../../../common/api/resources.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { HeldWatches } from "../../support/planes/held_watches.ts";
import { allRules } from "../../support/planes/issued_rights.ts";
import { boundaryOf, grantFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { writeOf } from "../../support/faults/write_gate.ts";

const GADGETS = "gadgets.example.org";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await CrashWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider: { kube }, provider, gate, proxy } = world;
await provider.define(GADGETS);

const watches = new HeldWatches();
proxy.faults = (arrival) => watches.fault(arrival) ?? gate.faults(arrival);
await world.succeed(); // a backend whose watches can be held

/** Returns whether the issuer has stopped its extra reconciles in the first seconds of a Grant. */
const isOldEnough = async (grant: Grant): Promise<boolean> => {
  const { metadata } = await kube.get(GRANTS, grant.metadata);
  return Date.now() - Date.parse(metadata.creationTimestamp ?? "") > 3_000;
};

/**
 * Makes a Grant and changes it right before its status is written. The issuer learns of the
 * change only from the answer to that write: the watches are held until the Grant has settled.
 */
async function changedAtStatus(
  who: string,
  change: (grant: Grant) => Promise<unknown>,
  settled: (grant: Grant) => Promise<unknown>,
): Promise<Grant> {
  const api = `${who}s.example.org`;
  await provider.define(api, {});
  const grant = await provider.grant({ who, apis: [WIDGETS, api] });
  await provider.unready(GRANTS, grant, "APINotExported");
  await eventually("the Grant is old enough", () => isOldEnough(grant));
  const { inspect } = gate;
  gate.inspect = async (write) => {
    await inspect(write);
    if (write.what !== "patch grants/status" || write.name !== grant.metadata.name) return;
    gate.inspect = inspect;
    await change(grant);
  };
  watches.hold(CRDS.plural);
  await provider.label(api, "true"); // so that the Grant becomes Ready
  await eventually("the Grant was changed", () => gate.inspect === inspect);
  await settled(grant).finally(() => watches.release());
  return grant;
}

Deno.test("issuer() revokes a Grant that is deleted while its status is written", async () => {
  await changedAtStatus(
    "ada",
    ({ metadata: { name } }) => kube.delete(GRANTS, { name }),
    (grant) => world.revoked(grant),
  );
});

Deno.test("issuer() updates the rights of a Grant that is changed while its status is written", async () => {
  const apis = [{ name: GADGETS }];
  const grant = await changedAtStatus(
    "bob",
    ({ metadata: { name } }) => provider.edit(GRANTS, { name }, { spec: { apis } }),
    (grant) => provider.ready(grant),
  );
  using consumer = await provider.issued(grant);
  await eventually("the account has the new rights", async () => {
    const rules = await allRules(consumer.kube, "default");
    const opened = rules.filter((rule) => rule.includes("example.org/"));
    assert.deepEqual(opened.map((rule) => rule.split("/")[1]), ["gadgets", "gadgets"]);
    return true;
  });
});

Deno.test("issuer() finds a token after it lost the answer and the event of the Secret", async () => {
  const grant = grantFor({ who: "eve" });
  const key = { name: `${grant.metadata.name}-token`, namespace: boundaryOf(grant) };
  const { faults } = proxy;
  proxy.faults = (arrival) => {
    const isOurs = arrival.path.includes(`/${key.namespace}/`);
    if (!isOurs || writeOf(arrival)?.what !== "create secrets") return faults(arrival);
    proxy.faults = faults;
    return {
      kind: "gate",
      pass: async (forward) => {
        watches.hold();
        await forward();
        await eventually("the token is there", async () => (await kube.get(SECRETS, key)).data);
        await eventually("the Grant is old enough", () => isOldEnough(grant));
        return false;
      },
    };
  };
  await provider.grant({ who: "eve" });
  await provider.ready(grant).finally(() => watches.release());
});

Deno.test("issuer() revokes a Grant once if its boundary changes meanwhile", async () => {
  const boundary = { name: boundaryOf(grantFor({ who: "dan" })) };
  /** Takes a label off the boundary, and waits until the issuer has put it back for `other`. */
  const changed = async () => {
    await provider.edit(NAMESPACES, boundary, {
      metadata: { labels: { [LABELS.managed]: null } },
    });
    await eventually("the boundary is repaired", async () => {
      const { metadata } = await kube.get(NAMESPACES, boundary);
      return metadata.labels?.[LABELS.managed];
    });
  };
  const grant = await provider.ready(await provider.grant({ name: "dan-a", who: "dan" }));
  const other = await provider.ready(await provider.grant({ name: "dan-b", who: "dan" }));
  const { inspect } = gate;
  gate.inspect = async (write) => {
    await inspect(write);
    if (write.what !== "patch grants") return;
    gate.inspect = inspect;
    watches.hold(NAMESPACES.plural);
    proxy.arrivals.length = 0;
  };
  try {
    await kube.delete(GRANTS, { name: grant.metadata.name });
    await world.revoked(grant);
    await changed();
    await changed();
    const ofGrant = proxy.arrivals.filter(({ path }) => path.includes(grant.metadata.name));
    assert.deepEqual(ofGrant.map(({ method, path }) => `${method} ${path}`), []);
  } finally {
    gate.inspect = inspect;
    watches.release();
  }
  await kube.delete(GRANTS, { name: other.metadata.name });
  await world.revoked(other);
});
