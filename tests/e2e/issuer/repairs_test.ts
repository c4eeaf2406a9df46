import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type Grant,
  GRANTS,
  hasFinalizer,
  type KubeObject,
  NAMESPACES,
  type ObjectMeta,
  type ResourceType,
  ROLE_BINDINGS,
  type RoleBinding,
  ROLES,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { CLEANUP_FINALIZER, LABELS } from "../../../common/api/names.ts";
import {
  boundaryOf,
  customType,
  grantFor,
  issuedKeys,
  WIDGETS,
} from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;

const EVERYTHING = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const MALLORY = { apiGroup: "rbac.authorization.k8s.io", kind: "User" as const, name: "mallory" };

/** After some failures the issuer retries once a minute. */
const RECOVERY = { timeoutMs: 90_000 };

/** The parts of an object that the issuer decides. */
const ownParts = ({ kind, metadata: { name, labels }, ...rest }: KubeObject) => {
  const { rules, aggregationRule, roleRef, subjects, type } = rest as Partial<
    ClusterRole & RoleBinding & Secret
  >;
  const ours = Object.entries(labels ?? {}).filter(([key]) => key.includes("xbind.io/"));
  const given = { rules, aggregationRule, roleRef, subjects, type };
  return { kind, name, labels: Object.fromEntries(ours), ...given };
};

const ownPartsOf = async (grant: Grant): Promise<object[]> =>
  [...(await world.issuedObjects(grant)).values()].map(ownParts);

/** The key of an object of a Grant. */
const keyOf = (grant: Grant, type: ResourceType): ObjectMeta =>
  issuedKeys(grant).find(([candidate]) => candidate === type)?.[1] ?? assert.fail();

/** Runs `act` while the issuer is paused. */
async function whileIssuerIsPaused(act: () => Promise<unknown>): Promise<void> {
  world.backend.signal("SIGSTOP");
  try {
    await act();
  } finally {
    world.backend.signal("SIGCONT");
  }
}

const deleted = async (type: ResourceType, key: ObjectKey): Promise<void> => {
  await kube.delete(type, key);
  await eventually("it is gone", async () => !await kube.find(type, key));
};

/** Replaces an object by another of the same name. */
async function replace<T extends KubeObject>(
  type: ResourceType<T>,
  key: ObjectKey,
  change: (object: T) => object,
): Promise<void> {
  const found = await kube.get(type, key);
  const { name, namespace, labels = {} } = found.metadata;
  const metadata = { name, ...(namespace && { namespace }), labels };
  await whileIssuerIsPaused(async () => {
    await deleted(type, key);
    await world.create(type, { ...found, ...change(found), metadata });
  });
}

/** Ways to damage the objects of a Grant. */
const DAMAGE: Record<string, (grant: Grant) => Promise<unknown>> = {
  "a Role with an extra rule": (grant) =>
    world.edit(ROLES, keyOf(grant, ROLES), ({ rules = [] }) => ({ rules: [...rules, EVERYTHING] })),
  "a ClusterRole with an extra rule": (grant) =>
    world.edit(
      CLUSTER_ROLES,
      keyOf(grant, CLUSTER_ROLES),
      ({ rules = [] }) => ({ rules: [EVERYTHING, ...rules] }),
    ),
  "a ClusterRole without rules": (grant) =>
    world.edit(CLUSTER_ROLES, keyOf(grant, CLUSTER_ROLES), { rules: null }),
  "a ClusterRole with an aggregation rule": async (grant) => {
    const labels = { "example.org/flows-into": grant.metadata.name };
    const name = `flows-into-${grant.metadata.name}`;
    await world.create(CLUSTER_ROLES, { metadata: { name, labels }, rules: [EVERYTHING] });
    await world.edit(CLUSTER_ROLES, keyOf(grant, CLUSTER_ROLES), {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] },
    });
  },
  "a RoleBinding with an extra subject": (grant) =>
    world.edit(
      ROLE_BINDINGS,
      keyOf(grant, ROLE_BINDINGS),
      ({ subjects = [] }) => ({ subjects: [...subjects, MALLORY] }),
    ),
  "a ClusterRoleBinding with another subject": (grant) =>
    world.edit(CLUSTER_ROLE_BINDINGS, keyOf(grant, CLUSTER_ROLE_BINDINGS), {
      subjects: [MALLORY],
    }),
  "a RoleBinding to another role": (grant) =>
    replace(ROLE_BINDINGS, keyOf(grant, ROLE_BINDINGS), ({ roleRef }) => ({
      roleRef: { ...roleRef, kind: "ClusterRole", name: "cluster-admin" },
    })),
  "a ClusterRoleBinding to another role": (grant) =>
    replace(CLUSTER_ROLE_BINDINGS, keyOf(grant, CLUSTER_ROLE_BINDINGS), ({ roleRef }) => ({
      roleRef: { ...roleRef, name: "cluster-admin" },
    })),
  "a Secret without its token": (grant) =>
    world.edit(SECRETS, keyOf(grant, SECRETS), { data: { token: null } }),
  "a Secret of another account": (grant) =>
    world.edit(SECRETS, keyOf(grant, SECRETS), {
      metadata: { annotations: { "kubernetes.io/service-account.name": "default" } },
    }),
  "a boundary without the label of managed objects": (grant) =>
    world.edit(NAMESPACES, keyOf(grant, NAMESPACES), {
      metadata: { labels: { [LABELS.managed]: null } },
    }),
};
for (const type of [ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, SECRETS]) {
  DAMAGE[`a ${type.kind} that was deleted`] = (grant) => kube.delete(type, keyOf(grant, type));
}

Deno.test("issuer() repairs the objects of a Grant", async (t) => {
  for (const [name, damage] of Object.entries(DAMAGE)) {
    await t.step(name, async () => {
      const grant = await world.ready(await world.grant({ who: name.replaceAll(" ", "-") }));
      const before = await ownPartsOf(grant);
      await damage(grant);
      await eventually("all objects are restored", async () => {
        assert.deepEqual(await ownPartsOf(grant), before);
        return true;
      });
      await world.ready(grant);
      // Kubernetes may still delete a damaged Secret, and the issuer makes another.
      await eventually("the credentials work", async () => {
        using issued = await world.issued(grant);
        return await issued.kube.list(customType(WIDGETS));
      });
    });
  }
});

Deno.test("issuer() brings a Role of an earlier version up to date when it starts", async () => {
  const grant = await world.ready(await world.grant({ who: "upgraded" }));
  const key = keyOf(grant, ROLES);
  const { rules } = await kube.get(ROLES, key);
  await world.stop();
  // Earlier versions did not let a konnector delete its Lease.
  const withoutDelete = await world.edit(ROLES, key, ({ rules = [] }) => ({
    rules: rules.map((rule) => ({
      ...rule,
      verbs: rule.resources?.includes("leases") ? ["get", "create", "patch"] : rule.verbs,
    })),
  }));
  assert.notDeepEqual(withoutDelete.rules, rules);
  await world.restart();
  await eventually("the Role is up to date", async () => {
    assert.deepEqual((await kube.get(ROLES, key)).rules, rules);
    return true;
  });
});

Deno.test("issuer() restores the finalizer and the status of a Grant", async () => {
  const grant = await world.ready(await world.grant({ who: "edited" }));
  const { name } = grant.metadata;
  await world.edit(GRANTS, { name }, { metadata: { finalizers: ["example.org/other"] } });
  const restored = await eventually("the finalizer is back", async () => {
    const stored = await kube.get(GRANTS, { name });
    return hasFinalizer(stored, CLEANUP_FINALIZER) && stored;
  });
  assert.deepEqual(restored.metadata.finalizers, ["example.org/other", CLEANUP_FINALIZER]);
  const patch = ["patch", "grant", name, "--subresource=status", "--type=merge"];
  const { code } = await world.plane.kubectl([...patch, "-p", '{"status":null}']);
  assert.equal(code, 0);
  const { conditions: _, ...places } = (await world.ready(grant)).status ?? {};
  const { conditions: __, ...before } = grant.status ?? {};
  assert.deepEqual(places, before);
});

Deno.test("issuer() waits for a terminating boundary, then recreates all objects", async () => {
  const [one, two] = await Promise.all(
    ["widgets", "others"].map(async (exportName) =>
      await world.ready(await world.grant({ who: "terminating", exportName }))
    ),
  );
  assert.ok(one && two);
  const namespace = boundaryOf(one);
  const type = customType(WIDGETS);
  const holding = { name: "holding", namespace, finalizers: ["example.org/hold"] };
  await world.create(type, { metadata: holding });
  const before = [await ownPartsOf(one), await ownPartsOf(two)];
  await kube.delete(NAMESPACES, { name: namespace });
  for (const grant of [one, two]) {
    await world.unready(GRANTS, grant, "Pending", /^Waiting for its terminating namespace to go$/);
  }
  await world.edit(type, holding, { metadata: { finalizers: null } });
  await Promise.all([one, two].map((grant) => world.ready(grant)));
  assert.deepEqual([await ownPartsOf(one), await ownPartsOf(two)], before);
});

/** Recreates a boundary as a konnector does that found it missing. */
async function recreatedByKonnector(grant: Grant): Promise<void> {
  const name = boundaryOf(grant);
  await kube.delete(NAMESPACES, { name });
  await eventually("it is gone", async () => !await kube.find(NAMESPACES, { name }));
  await world.create(NAMESPACES, { metadata: { name } });
  await eventually(
    "the namespace has its default account",
    () => kube.find(SERVICE_ACCOUNTS, { name: "default", namespace: name }),
  );
}

Deno.test("issuer() takes over a boundary that a konnector recreated", async () => {
  const grant = await world.ready(await world.grant({ who: "konnector" }));
  const before = await ownPartsOf(grant);
  await whileIssuerIsPaused(() => recreatedByKonnector(grant));
  await eventually("all objects are restored", async () => {
    assert.deepEqual(await ownPartsOf(grant), before);
    return true;
  });
  await world.ready(grant);
});

Deno.test("issuer() does not take over a namespace with roles, bindings or accounts", async (t) => {
  const table: [ResourceType, object][] = [
    [ROLES, { rules: [EVERYTHING] }],
    [ROLE_BINDINGS, {
      roleRef: { apiGroup: MALLORY.apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [MALLORY],
    }],
    [SERVICE_ACCOUNTS, {}],
  ];
  for (const [type, content] of table) {
    await t.step(`with a ${type.kind}`, async () => {
      const sample = { who: `foreign-${type.plural}` };
      const name = boundaryOf(grantFor(sample));
      const labels = { "example.org/owner": "somebody" };
      await world.create(NAMESPACES, { metadata: { name, labels } });
      await world.create(type, { metadata: { name: "theirs", namespace: name }, ...content });
      const grant = await world.grant(sample);
      const said = new RegExp(`^Namespace "${name}" lacks .* holds ${type.kind} "theirs": `);
      await world.unready(GRANTS, grant, "ProvisioningFailed", said);
      assert.equal((await world.issuedObjects(grant)).size, 1, "only the namespace");
      await kube.delete(type, { name: "theirs", namespace: name });
      await world.ready(grant, RECOVERY);
      const { metadata } = await kube.get(NAMESPACES, { name });
      assert.equal(metadata.labels?.["example.org/owner"], "somebody");
    });
  }
});

Deno.test("issuer() names the missing label of a boundary", async () => {
  const grant = await world.ready(await world.grant({ who: "unlabelled" }));
  const { metadata } = await kube.get(NAMESPACES, { name: boundaryOf(grant) });
  const relabel = (value: string | null) =>
    world.edit(NAMESPACES, metadata, { metadata: { labels: { [LABELS.identity]: value } } });
  await relabel(null);
  const label = `${LABELS.identity}=${metadata.labels?.[LABELS.identity]}`;
  await world.unready(GRANTS, grant, "ProvisioningFailed", new RegExp(`lacks the label ${label} `));
  await relabel(metadata.labels?.[LABELS.identity] ?? assert.fail());
  await world.ready(grant, RECOVERY);
});

Deno.test("issuer() does not take over an object that it did not create", async (t) => {
  const boundary = await world.ready(await world.grant({ who: "somebody", exportName: "first" }));
  const example = new Map((await world.issuedObjects(boundary)).entries());
  for (const [type] of issuedKeys(boundary).slice(1)) {
    await t.step(`a ${type.kind}`, async () => {
      const sample = { who: "somebody", exportName: type.plural };
      const key = keyOf(grantFor(sample), type);
      const content = type === SECRETS ? { type: "Opaque" } : example.get(type.kind);
      const theirs = await world.create(type, { ...content, metadata: key });
      const grant = await world.grant(sample);
      const said = new RegExp(`^${type.kind} "[^"]*${key.name}" exists and does not carry`);
      await world.unready(GRANTS, grant, "ProvisioningFailed", said);
      assert.deepEqual(await kube.get(type, key), theirs);
      await kube.delete(type, key);
      await world.ready(grant, RECOVERY);
      assert.equal((await world.issuedObjects(grant)).size, 7);
      await eventually("both Events are written in order", async () => {
        const events = (await world.eventsOf(grant)).join("\n");
        return /^Warning ProvisioningFailed: .*\nNormal/.test(events);
      });
    });
  }
});

Deno.test("issuer() retries a failing Grant at most ten times a minute", async () => {
  const sample = { who: "failing" };
  const key = keyOf(grantFor(sample), CLUSTER_ROLES);
  await world.create(CLUSTER_ROLES, { metadata: key });
  const grant = await world.grant(sample);
  await world.unready(GRANTS, grant, "ProvisioningFailed");
  const { name } = grant.metadata;
  const tries = () => world.backend.log.filter((line) => line["key"] === name).length;
  let edits = 0;
  const OBSERVED_MS = 12_000;
  await eventually("the Grant was edited all the time", async () => {
    const annotations = { "example.org/edited": `${++edits}` };
    await world.edit(GRANTS, { name }, { metadata: { annotations } });
    return Date.now() - Date.parse(grant.metadata.creationTimestamp ?? "") > OBSERVED_MS;
  }, { everyMs: 20 });
  assert.ok(edits > 50, `${edits} edits`);
  assert.ok(tries() >= 2 && tries() <= 10, `${tries()} tries`);
  const failures = (await world.eventsOf(grant))
    .filter((event) => event.includes("ProvisioningFailed"));
  assert.equal(failures.length, 1);
});
