import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLES,
  type ClusterRole,
  condition,
  GRANTS,
  isReady,
  LEASES,
  NAMESPACES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import {
  FIELD_MANAGERS,
  identityHash,
  LABELS,
  tokenSecretName,
} from "../../../common/api/names.ts";
import type { Backend } from "../../support/programs/backend.ts";
import { ChartFlow } from "../../support/worlds/chart_flow.ts";
import { ChartRelease } from "../../support/worlds/chart_release.ts";
import { ownPlane, sharedConsumer } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { HeldWatches } from "../../support/planes/held_watches.ts";
import { boundaryOf, grantFor, type GrantSample } from "../../support/planes/issuer_samples.ts";
import { accountToken, connect } from "../../support/planes/kube.ts";
import { isUsed, requestsBy, type Right, rightText } from "../../support/planes/used_rights.ts";

const consumer = await sharedConsumer();
const { installer } = FIELD_MANAGERS;

const GATEWAY = { "apply.enabled": true, kubernetesAuth: true, "oidc.mock.enabled": true };
const REAPER = {
  "reaper.enabled": true,
  "reaper.revoke": true,
  "reaper.deleteBoundary": true,
  "reaper.ttl": "15s",
  "reaper.interval": "1s",
};
/** Turns leader election on, though each release runs as one process. */
const SEVERAL = { replicaCount: 2 };

/** Verbs that the API server checks itself when roles and bindings are written. */
const UNSEEN = ["escalate", "bind"];

const refused = (events: readonly AuditEvent[]): string[] =>
  events.filter(({ responseStatus }) => responseStatus?.code === 403)
    .map(({ verb, requestURI, user }) => `${user.username}: ${verb} ${requestURI}`);

/** Returns the rights that were not used. */
const unused = (rights: readonly Right[], events: readonly AuditEvent[]): string[] =>
  rights.filter((right) => !UNSEEN.includes(right.verb) && !isUsed(right, events)).map(rightText);

async function assertElected(kube: KubeClient, namespace: string): Promise<void> {
  await eventually(`${namespace} has a leader`, async () => {
    const lease = await kube.find(LEASES, { name: "backend.xbind.io", namespace });
    return lease?.spec?.holderIdentity;
  });
}

async function assertStops(...backends: Backend[]): Promise<void> {
  for (const backend of backends) assert.equal(await backend.stop(), 0, backend.lines.join("\n"));
}

Deno.test("the backend has enough rights in one release of the chart:", async (t) => {
  await using plane = await ownPlane({ auditLog: true });
  using admin = await connect(plane);
  const release = await ChartRelease.install(plane, "xbind", { ...GATEWAY, ...REAPER, ...SEVERAL });
  await using gateway = await Gateway.of(await release.start());
  const { backend } = gateway;
  await using flow = await ChartFlow.start(plane, gateway);
  await t.step("offers", () => flow.offer());
  await t.step("logs in", () => flow.logIn());
  await t.step("binds", () => flow.bind());
  await t.step("shows synced objects", () => flow.sync());
  await t.step("applies to a consumer", () => flow.apply(consumer));
  await t.step("binds again", () => flow.bindAgain());
  const silent = await flow.bindAsAccount();
  await t.step("repairs roles", () => flow.repair());
  await t.step("deletes leftovers", () => flow.leaveBehind());
  await t.step("reaps", () => flow.reaped(silent));
  await t.step("revokes", () => flow.revoke());
  await t.step("judges Exports", () => flow.withdraw());
  await t.step("elects a leader", () => assertElected(admin.kube, release.namespace));
  await t.step("gets no 403", async () => {
    const events = await requestsBy(plane, admin.kube, [release.user]);
    assert.deepEqual(refused(events), []);
  });
  for (const verb of UNSEEN) {
    await t.step(`needs ${verb}`, () => assertNeeded(plane, admin.kube, release.user, verb));
  }
  await t.step("stops", () => assertStops(backend));
});

Deno.test("with authorization, the backend may ask about callers, and nothing as them:", async (t) => {
  await using plane = await ownPlane({ auditLog: true });
  using admin = await connect(plane);
  const release = await ChartRelease.install(plane, "xbind", {
    ...GATEWAY,
    "authorization.mode": "Kubernetes",
  });
  await using gateway = await Gateway.of(await release.start());
  await using flow = await ChartFlow.start(plane, gateway);
  const kubectl = async (...args: string[]) => {
    const { code, stderr } = await plane.kubectl(args);
    assert.equal(code, 0, stderr);
  };
  const open = ["--clusterrole=xbind-binder", "--group=xbind:authenticated"];
  await kubectl("create", "clusterrolebinding", "open", ...open);
  await t.step("offers", () => flow.offer());
  await t.step("logs in", () => flow.logIn());
  await t.step("binds", () => flow.bind());
  await t.step("asks about an account in bulk", async () => {
    const token = await accountToken(admin.kube, "default", "robot");
    await gateway.read(token, "/api/catalog");
    const events = await requestsBy(plane, admin.kube, [release.user]);
    const asked = events.map(({ impersonatedUser }) => impersonatedUser?.username);
    assert.ok(asked.includes("system:serviceaccount:default:robot"));
  });
  await t.step("gets no 403, and asks in both ways", async () => {
    const events = await requestsBy(plane, admin.kube, [release.user]);
    assert.deepEqual(refused(events), []);
    const asked = new Set(events.map(({ objectRef }) => objectRef?.resource));
    assert.ok(asked.has("subjectaccessreviews") && asked.has("selfsubjectrulesreviews"));
    assert.ok(events.some(({ impersonatedUser }) => impersonatedUser));
  });
  const kubeconfig = await release.kubeconfig();
  for (const as of [["--as=xbind:x"], ["--as=system:admin", "--as-group=system:masters"]]) {
    await t.step(`may do nothing else ${as.join(" ")}`, async () => {
      for (const what of ["secrets", "exports.catalog.xbind.io"]) {
        const { code, stderr } = await plane.kubectl(["get", what, ...as], { kubeconfig });
        assert.equal(code, 1);
        assert.match(stderr, /Forbidden/);
      }
    });
  }
  await t.step("stops", () => assertStops(gateway.backend));
});

/** Asserts that the issuer's next Grant fails without a verb, and restores the verb. */
async function assertNeeded(
  plane: ControlPlane,
  kube: KubeClient,
  user: string,
  verb: string,
): Promise<void> {
  const key = { name: "xbind-backend-issuer" };
  const { rules = [] } = await kube.get(CLUSTER_ROLES, key);
  const setRules = async (changed: ClusterRole["rules"]) => {
    const { metadata: { resourceVersion = "" } } = await kube.get(CLUSTER_ROLES, key);
    await kube.mergePatch(
      CLUSTER_ROLES,
      key,
      { metadata: { resourceVersion }, rules: changed },
      installer,
    );
  };
  await setRules(rules.map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter((each) => each !== verb),
  })));
  await eventually("the API server knows of it", async () => {
    const { stdout } = await plane.kubectl(["auth", "can-i", verb, "clusterroles", `--as=${user}`]);
    return stdout.trim() === "no";
  });
  const { name } = (await makeGrant(kube, { who: verb })).metadata;
  await eventually(`Grant ${name} fails`, async () => {
    const ready = condition(await kube.get(GRANTS, { name }), "Ready");
    return ready?.reason === "ProvisioningFailed";
  });
  await setRules(rules);
  await assertReady(kube, name);
}

const makeGrant = async (kube: KubeClient, sample: GrantSample) =>
  await kube.create(GRANTS, grantFor(sample), FIELD_MANAGERS.gateway);

const assertReady = async (kube: KubeClient, name: string): Promise<void> =>
  void await eventually(
    `Grant ${name} is Ready`,
    async () => isReady(await kube.get(GRANTS, { name })),
    { timeoutMs: 90_000 },
  );

Deno.test("the backend uses every right of the chart, with one release per module:", async (t) => {
  // Without streamed lists, the backend uses `list`; otherwise it only watches.
  const apiServerArgs = ["--feature-gates=WatchList=false"];
  await using plane = await ownPlane({ auditLog: true, apiServerArgs });
  using admin = await connect(plane);
  const only = (module: string) => ({
    ...Object.fromEntries(
      ["gateway", "issuer", "reaper"].map((each) => [`${each}.enabled`, each === module]),
    ),
    installCrds: false,
    ...SEVERAL,
  });
  const install = (name: string, values: object) =>
    ChartRelease.install(plane, name, { ...only(name), ...values });
  const issuer = await install("issuer", { installCrds: true });
  const inventory = { "rbac.inventoryGroups": ["example.org", ""] };
  const front = await install("gateway", { ...GATEWAY, ...inventory });
  const reaper = await install("reaper", REAPER);
  const releases = [issuer, front, reaper];

  await using proxy = await FaultProxy.start(plane, { identity: "caller" });
  const watches = new HeldWatches();
  proxy.faults = (arrival) => watches.fault(arrival);
  await using issuing = await issuer.start(proxy);
  await issuing.logged("issuing");
  await using gateway = await Gateway.of(await front.start());
  await using flow = await ChartFlow.start(plane, gateway);
  await t.step("offers", () => flow.offer());
  await t.step("logs in", () => flow.logIn());
  await t.step("binds", () => flow.bind());
  await t.step("binds again", () => flow.bindAgain());
  await t.step("shows synced objects", () => flow.sync());
  await t.step("applies to a consumer", () => flow.apply(consumer));
  await using reaping = await reaper.start();
  const silent = await flow.bindAsAccount();
  await t.step("repairs roles", () => flow.repair());
  await t.step("deletes leftovers", () => flow.leaveBehind());
  await t.step("reaps", () => flow.reaped(silent));
  await t.step("finds objects that its caches lack", () => assertCrossed(admin.kube, watches));
  await t.step("revokes", () => flow.revoke());
  await t.step("judges Exports", () => flow.withdraw());
  for (const { namespace } of [issuer, reaper]) {
    await t.step(`elects a leader as ${namespace}`, () => assertElected(admin.kube, namespace));
  }
  await t.step("stops", () => assertStops(reaping, gateway.backend, issuing));

  const events = await requestsBy(plane, admin.kube, releases.map(({ user }) => user));
  await t.step("gets no 403", () => assert.deepEqual(refused(events), []));
  for (const { user, namespace, rights } of releases) {
    await t.step(`uses every right as ${namespace}`, () => {
      const own = events.filter((event) => event.user.username === user);
      assert.deepEqual(unused(rights, own), []);
    });
  }
});

/** Asserts that a Grant becomes Ready if its account and Secret exist but are not cached. */
async function assertCrossed(kube: KubeClient, watches: HeldWatches): Promise<void> {
  const sample = { who: "crossed" };
  const grant = grantFor(sample);
  const { name } = grant.metadata;
  const namespace = boundaryOf(grant);
  const labels = { [LABELS.grant]: name };
  watches.hold(GRANTS.plural);
  try {
    const identity = { [LABELS.identity]: identityHash(grant.spec.identity.subject) };
    await kube.create(NAMESPACES, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { ...identity, [LABELS.managed]: "true" } },
    }, installer);
    await kube.create(SERVICE_ACCOUNTS, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace, labels },
    }, installer);
    await kube.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: tokenSecretName(name),
        namespace,
        labels,
        annotations: { "kubernetes.io/service-account.name": name },
      },
      type: "kubernetes.io/service-account-token",
    }, installer);
    await makeGrant(kube, sample);
    await assertReady(kube, name);
  } finally {
    watches.release();
  }
}
