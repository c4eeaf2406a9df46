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

// Before any test, so that no test is charged with processes it does not end.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;

const EVERYTHING = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const MALLORY = { apiGroup: "rbac.authorization.k8s.io", kind: "User" as const, name: "mallory" };

/** After some failures the issuer tries once a minute. */
const RECOVERY = { timeoutMs: 90_000 };

/** What of an object the issuer decides. */
const essence = ({ kind, metadata: { name, labels }, ...rest }: KubeObject) => {
  const { rules, aggregationRule, roleRef, subjects, type } = rest as Partial<
    ClusterRole & RoleBinding & Secret
  >;
  const ours = Object.entries(labels ?? {}).filter(([key]) => key.includes("xbind.io/"));
  const given = { rules, aggregationRule, roleRef, subjects, type };
  return { kind, name, labels: Object.fromEntries(ours), ...given };
};

const essences = async (grant: Grant): Promise<object[]> =>
  [...(await world.issuedObjects(grant)).values()].map(essence);

/** Where an object of a Grant is. */
const keyOf = (grant: Grant, type: ResourceType): ObjectMeta =>
  issuedKeys(grant).find(([candidate]) => candidate === type)?.[1] ?? assert.fail();

/** Lets something happen while the issuer sleeps. */
async function behindItsBack(act: () => Promise<unknown>): Promise<void> {
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

/** Deletes an object and puts another in its place, before anybody else can. */
async function replace<T extends KubeObject>(
  type: ResourceType<T>,
  key: ObjectKey,
  change: (object: T) => object,
): Promise<void> {
  const found = await kube.get(type, key);
  const { name, namespace, labels = {} } = found.metadata;
  const metadata = { name, ...(namespace && { namespace }), labels };
  await behindItsBack(async () => {
    await deleted(type, key);
    await world.create(type, { ...found, ...change(found), metadata });
  });
}

/** Ways to damage what a Grant gave. */
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
  "a ClusterRole into which the rules of others flow": async (grant) => {
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
  DAMAGE[`a ${type.kind} that is deleted`] = (grant) => kube.delete(type, keyOf(grant, type));
}

Deno.test("issuer() repairs", async (t) => {
  for (const [what, damage] of Object.entries(DAMAGE)) {
    await t.step(what, async () => {
      const grant = await world.ready(await world.grant({ who: what.replaceAll(" ", "-") }));
      const before = await essences(grant);
      await damage(grant);
      await eventually("everything is as it was", async () => {
        assert.deepEqual(await essences(grant), before);
        return true;
      });
      await world.ready(grant);
      // Kubernetes may yet take a damaged Secret away: then the next one counts.
      await eventually("the credentials work", async () => {
        using issued = await world.issued(grant);
        return await issued.kube.list(customType(WIDGETS));
      });
    });
  }
});

Deno.test("issuer() restores what it wrote on a Grant", async () => {
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

Deno.test("issuer() waits for a terminating boundary, then makes everything anew", async () => {
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
  const before = [await essences(one), await essences(two)];
  await kube.delete(NAMESPACES, { name: namespace });
  for (const grant of [one, two]) {
    await world.unready(GRANTS, grant, "Pending", /^Waiting for its terminating namespace to go$/);
  }
  await world.edit(type, holding, { metadata: { finalizers: null } });
  await Promise.all([one, two].map((grant) => world.ready(grant)));
  assert.deepEqual([await essences(one), await essences(two)], before);
});

/** A konnector that found its namespace gone has made it again, by its own rights. */
async function recreatedByKonnector(grant: Grant): Promise<void> {
  const name = boundaryOf(grant);
  await kube.delete(NAMESPACES, { name });
  await eventually("it is gone", async () => !await kube.find(NAMESPACES, { name }));
  await world.create(NAMESPACES, { metadata: { name } });
  await eventually(
    "it has its default account",
    () => kube.find(SERVICE_ACCOUNTS, { name: "default", namespace: name }),
  );
}

Deno.test("issuer() takes over a boundary that a konnector made again", async () => {
  const grant = await world.ready(await world.grant({ who: "konnector" }));
  const before = await essences(grant);
  await behindItsBack(() => recreatedByKonnector(grant));
  await eventually("everything is as it was", async () => {
    assert.deepEqual(await essences(grant), before);
    return true;
  });
  await world.ready(grant);
});

Deno.test("issuer() never takes over a namespace that could hand out rights", async (t) => {
  const table: [ResourceType, object][] = [
    [ROLES, { rules: [EVERYTHING] }],
    [ROLE_BINDINGS, {
      roleRef: { apiGroup: MALLORY.apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [MALLORY],
    }],
    [SERVICE_ACCOUNTS, {}],
  ];
  for (const [type, content] of table) {
    await t.step(`a ${type.kind} is in it`, async () => {
      const sample = { who: `foreign-${type.plural}` };
      const name = boundaryOf(grantFor(sample));
      const labels = { "example.org/owner": "somebody" };
      await world.create(NAMESPACES, { metadata: { name, labels } });
      await world.create(type, { metadata: { name: "theirs", namespace: name }, ...content });
      const grant = await world.grant(sample);
      const said = new RegExp(`^Namespace "${name}" lacks .* holds ${type.kind} "theirs": `);
      await world.unready(GRANTS, grant, "ProvisioningFailed", said);
      assert.equal((await world.issuedObjects(grant)).size, 1, "the namespace and nothing in it");
      await kube.delete(type, { name: "theirs", namespace: name });
      await world.ready(grant, RECOVERY);
      const { metadata } = await kube.get(NAMESPACES, { name });
      assert.equal(metadata.labels?.["example.org/owner"], "somebody");
    });
  }
});

Deno.test("issuer() says how to mend a boundary that lost its label", async () => {
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

Deno.test("issuer() never takes over an object that somebody else made", async (t) => {
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
      await eventually("both are told, in order", async () => {
        const told = (await world.eventsOf(grant)).join("\n");
        return /^Warning ProvisioningFailed: .*\nNormal/.test(told);
      });
    });
  }
});

Deno.test("issuer() tries a Grant that keeps failing ten times a minute at most", async () => {
  const sample = { who: "failing" };
  const key = keyOf(grantFor(sample), CLUSTER_ROLES);
  await world.create(CLUSTER_ROLES, { metadata: key });
  const grant = await world.grant(sample);
  await world.unready(GRANTS, grant, "ProvisioningFailed");
  const { name } = grant.metadata;
  const tries = () => world.backend.log.filter((line) => line["key"] === name).length;
  let touches = 0;
  const OBSERVED_MS = 12_000;
  await eventually("it was touched all the time", async () => {
    const annotations = { "example.org/touched": `${++touches}` };
    await world.edit(GRANTS, { name }, { metadata: { annotations } });
    return Date.now() - Date.parse(grant.metadata.creationTimestamp ?? "") > OBSERVED_MS;
  });
  assert.ok(touches > 50, `${touches} touches`);
  assert.ok(tries() >= 2 && tries() <= 10, `${tries()} tries`);
  const failures = (await world.eventsOf(grant))
    .filter((event) => event.includes("ProvisioningFailed"));
  assert.equal(failures.length, 1);
});
