import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CONFIG_MAPS,
  CRDS,
  type Grant,
  LEASES,
  NAMESPACES,
  type RelatedResource,
  ROLES,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { boundaryName, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  type Access,
  allowedVerbs,
  allRules,
  isAllowed,
} from "../../support/planes/issued_rights.ts";
import { boundaryOf, customType, subjectOf, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const GADGETS = "gadgets.example.org"; // exported, but in no Grant
await world.define(GADGETS);

const secrets = (direction: RelatedResource["direction"]): RelatedResource => ({
  resource: "secrets",
  direction,
  selector: { names: ["only-this-one"] },
});
await world.offer("widgets", [WIDGETS], {
  defaults: {
    relatedResources: [
      secrets("FromProvider"),
      secrets("FromConsumer"),
      { resource: "configmaps", direction: "FromProvider" },
    ],
  },
});
const ada = await world.grant();
const reader = await world.grant({ who: "reader", relatedResources: [secrets("FromProvider")] });
const writer = await world.grant({
  who: "writer",
  relatedResources: [
    secrets("FromConsumer"),
    { resource: "configmaps", direction: "FromProvider" },
    secrets("FromProvider"),
  ],
});

type Scope = "Cluster" | "Namespace";
const READ = "get,list,watch";
const ALL = `${READ},create,update,patch,delete`;
const secretVerbs = new Map([[ada, ""], [reader, READ], [writer, ALL]]);
const configMapVerbs = new Map([[ada, ""], [reader, ""], [writer, READ]]);

/** The rules that a Grant should have: in every namespace, and in the boundary. */
function table(grant: Grant, scope: Scope): { everywhere: string[]; inBoundary: string[] } {
  const granted = [`${ALL} example.org/widgets`, `${ALL} example.org/widgets/status`];
  const [forSecrets, forConfigMaps] = [secretVerbs.get(grant), configMapVerbs.get(grant)];
  if (forSecrets) granted.push(`${forSecrets} /secrets`);
  if (forConfigMaps) granted.push(`${forConfigMaps} /configmaps`);
  const everywhere = [
    `${READ} apiextensions.k8s.io/customresourcedefinitions`,
    "get /namespaces=kube-system",
    ...(scope === "Cluster" ? [`${READ},create /namespaces`, ...granted] : []),
  ];
  const inBoundary = [
    ...everywhere,
    `${ALL} coordination.k8s.io/leases`,
    ...(scope === "Cluster" ? [] : granted),
  ];
  return { everywhere: everywhere.sort(), inBoundary: inBoundary.sort() };
}

/** The expected answers to `kubectl auth can-i`, verb by verb. */
function accesses(grant: Grant, scope: Scope): [Access, verbs: string][] {
  const boundary = boundaryOf(grant);
  const elsewhere = ["default", "kube-system", boundaryName(subjectOf("nobody")), undefined];
  const [inCluster, inNamespace] = [scope === "Cluster", scope === "Namespace"];
  const list: [Access, string][] = [];
  const add = (group: string, resource: string, verbs: string, ...at: (string | undefined)[]) => {
    for (const namespace of at) {
      list.push([{ group, resource, ...(namespace && { namespace }) }, verbs]);
    }
  };
  const scoped = (group: string, resource: string, verbs = "") => {
    add(group, resource, verbs, boundary);
    add(group, resource, inCluster ? verbs : "", ...elsewhere);
  };
  scoped("example.org", "widgets", ALL);
  scoped("example.org", "widgets/status", ALL);
  scoped("", "secrets", secretVerbs.get(grant));
  scoped("", "configmaps", configMapVerbs.get(grant));
  add("coordination.k8s.io", "leases", ALL, boundary);
  add("coordination.k8s.io", "leases", "", ...elsewhere);
  add("apiextensions.k8s.io", "customresourcedefinitions", READ, undefined);
  add("", "namespaces", inCluster ? `${READ},create` : "", undefined);
  const kubeSystem = { resource: "namespaces", name: "kube-system" };
  list.push([kubeSystem, inNamespace ? "get" : `${READ},create`]);
  const never: Record<string, string[]> = {
    "": ["pods", "serviceaccounts", "serviceaccounts/token", "events", "users", "nodes"],
    "example.org": ["widgets/scale", "gadgets", "*"],
    "apps": ["deployments"],
    "rbac.authorization.k8s.io": ["roles", "rolebindings", "clusterroles"],
    "apiextensions.k8s.io": ["customresourcedefinitions/status"],
    "iam.xbind.io": ["grants", "grants/status"],
    "catalog.xbind.io": ["exports"],
    "*": ["*"],
  };
  for (const [group, resources] of Object.entries(never)) {
    for (const resource of resources) add(group, resource, "", boundary, ...elsewhere);
  }
  return list;
}

/** Calls of a konnector or a thief, in this order, and whether they are allowed. */
function calls(
  kube: KubeClient,
  grant: Grant,
  scope: Scope,
): [name: string, allowed: boolean, call: () => Promise<unknown>][] {
  const { cli } = FIELD_MANAGERS;
  const { name } = grant.metadata;
  const namespace = boundaryOf(grant);
  const inCluster = scope === "Cluster";
  const writes = grant === writer;
  const widgets = customType(WIDGETS);
  const widget = { apiVersion: "example.org/v1", kind: "Widget" };
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  const core = { apiVersion: "v1" };
  const here = { name: `here-${scope.toLowerCase()}`, namespace };
  const there = { name: `${name}-${scope.toLowerCase()}`, namespace: "default" };
  const status = { ...widget, metadata: here, status: { phase: "Running" } };
  const secret = { ...core, kind: "Secret" };
  const ofItsOwn = { name: there.name };
  return [
    ["create a Widget", true, () => kube.create(widgets, { ...widget, metadata: here }, cli)],
    ["apply its status", true, () => kube.applyStatus(widgets, status, cli)],
    ["delete the Widget", true, () => kube.delete(widgets, here)],
    [
      "create a Widget elsewhere",
      inCluster,
      () => kube.create(widgets, { ...widget, metadata: there }, cli),
    ],
    ["list all Widgets", inCluster, () => kube.list(widgets)],
    ["list Gadgets", false, () => kube.list(customType(GADGETS), { namespace })],
    ["list CRDs", true, () => kube.list(CRDS)],
    ["delete a CRD", false, () => kube.delete(CRDS, { name: GADGETS })],
    ["get kube-system", true, () => kube.get(NAMESPACES, { name: "kube-system" })],
    ["get default", inCluster, () => kube.get(NAMESPACES, { name: "default" })],
    [
      "create a namespace",
      inCluster,
      () => kube.create(NAMESPACES, { ...core, kind: "Namespace", metadata: ofItsOwn }, cli),
    ],
    ["delete a namespace", false, () => kube.delete(NAMESPACES, ofItsOwn)],
    ["apply a Lease", true, () => kube.apply(LEASES, { ...lease, metadata: here }, cli)],
    ["apply one elsewhere", false, () => kube.apply(LEASES, { ...lease, metadata: there }, cli)],
    ["delete the Lease", true, () => kube.delete(LEASES, here)],
    ["delete one elsewhere", false, () => kube.delete(LEASES, there)],
    ["list Secrets", grant !== ada, () => kube.list(SECRETS, { namespace })],
    ["list all Secrets", grant !== ada && inCluster, () => kube.list(SECRETS)],
    ["apply a Secret", writes, () => kube.apply(SECRETS, { ...secret, metadata: here }, cli)],
    [
      "apply a Secret elsewhere",
      writes && inCluster,
      () => kube.apply(SECRETS, { ...secret, metadata: there }, cli),
    ],
    ["list ConfigMaps", writes, () => kube.list(CONFIG_MAPS, { namespace })],
    ["list Roles", false, () => kube.list(ROLES, { namespace })],
  ];
}

async function checkRights(t: Deno.TestContext, scope: Scope): Promise<void> {
  for (const grant of [ada, reader, writer]) {
    await world.ready(grant);
    using issued = await world.issued(grant);
    const { kube } = issued;
    const { subject } = grant.spec.identity;
    const { everywhere, inBoundary } = table(grant, scope);
    await t.step(`${subject} has the rules of the table and no others`, async () => {
      await eventually("the API server knows the roles", async () => {
        assert.deepEqual(await allRules(kube, boundaryOf(grant)), inBoundary);
        assert.deepEqual(await allRules(kube, "default"), everywhere);
        return true;
      });
    });
    await t.step(`${subject} may use the verbs of the table and no others`, async () => {
      const wrong: object[] = [];
      await Promise.all(
        accesses(grant, scope).map(async ([access, verbs]) => {
          const allowed = (await allowedVerbs(kube, access)).join();
          if (allowed !== verbs) wrong.push({ ...access, allowed, verbs });
        }),
      );
      assert.deepEqual(wrong, []);
    });
    await t.step(`${subject} can make the allowed calls and no others`, async () => {
      for (const [name, allowed, call] of calls(kube, grant, scope)) {
        assert.equal(await isAllowed(call()), allowed, name);
      }
    });
  }
}

Deno.test("issuer() gives the rights of the table under scope Cluster", async (t) => {
  await checkRights(t, "Cluster");
});

Deno.test("issuer() writes nothing at a restart when nothing has changed", async () => {
  await Promise.all([ada, reader, writer].map((grant) => world.ready(grant)));
  const writes = await world.writesDuring(async () => {
    await world.restart();
    await eventually("all were reconciled", async () => await world.reconciles("grant") >= 3);
  });
  assert.deepEqual(writes, []);
});

Deno.test("issuer() gives the rights of the table after a change to scope Namespace", async (t) => {
  await world.restart("--issuer-scope=Namespace");
  await checkRights(t, "Namespace");
});

Deno.test("issuer() gives the rights of the table after a change back to scope Cluster", async () => {
  await world.restart();
  using issued = await world.issued(reader);
  await eventually("the rules are those of the table", async () => {
    const rules = await allRules(issued.kube, "default");
    assert.deepEqual(rules, table(reader, "Cluster").everywhere);
    return true;
  });
});
