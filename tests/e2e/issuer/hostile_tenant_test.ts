import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  condition,
  EXPORTS,
  type Grant,
  GRANTS,
  isReady,
  LEASES,
  type RelatedResource,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isForbidden } from "../../../common/kube/kube_error.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, tokenSecretName } from "../../../common/api/names.ts";
import { boundaryOf, customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import { plainSecret } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start("--issuer-scope=Namespace");
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;

const WRITES_SECRETS: RelatedResource = { resource: "secrets", direction: "FromConsumer" };
const HOLD = "example.org/hold";
/** More Secrets than the issuer lets wait for Kubernetes at once. */
const MANY = 25;
await world.offer("vault", [WIDGETS], { defaults: { relatedResources: [WRITES_SECRETS] } });

/** A tenant whose credential may write the Secrets of its boundary. */
const tenantOf = async (who: string): Promise<Grant> =>
  await world.ready(
    await world.grant({ who, exportName: "vault", relatedResources: [WRITES_SECRETS] }),
  );

const isGone = async ({ metadata: { name, uid } }: Grant): Promise<boolean> =>
  (await kube.find(GRANTS, { name }))?.metadata.uid !== uid;

/** Writes as the tenant, once the API server knows its rights. */
const asTenant = <T>(name: string, call: () => Promise<T>): Promise<T> => eventually(name, call);

Deno.test("issuer() ignores foreign Secrets with the label of a Grant", async (t) => {
  const grant = await tenantOf("mallory");
  using issued = await world.issued(grant);
  const namespace = boundaryOf(grant);
  const labels = { [LABELS.grant]: grant.metadata.name };
  const annotations = { "kubernetes.io/service-account.name": grant.metadata.name };
  await asTenant(
    "the first Secret is written",
    () =>
      issued.kube.create(SECRETS, plainSecret(namespace, "bait-0", { labels }), FIELD_MANAGERS.cli),
  );
  for (let i = 1; i < MANY; i++) {
    const other = { [LABELS.grant]: `nobody-${i}` };
    const secret = plainSecret(namespace, `bait-${i}`, { labels: i % 2 ? labels : other });
    await issued.kube.create(SECRETS, secret, FIELD_MANAGERS.cli);
  }
  await issued.kube.create(SECRETS, {
    ...plainSecret(namespace, "bait-token", { labels, annotations }),
    type: "kubernetes.io/service-account-token",
  }, FIELD_MANAGERS.cli);
  const baits = async () =>
    (await kube.list(SECRETS, { namespace }))
      .filter(({ metadata }) => metadata.name.startsWith("bait-")).length;

  await t.step("others get their credentials", async () => {
    const others = Array.from({ length: 5 }, (_, i) => world.grant({ who: `honest-${i}` }));
    for (const other of await Promise.all(others)) await world.ready(other);
  });
  await t.step("one Event names a Secret", async () => {
    const seen = () => world.eventsOf(grant);
    await eventually("it exists", async () => (await seen()).some((line) => /Foreign/.test(line)));
    const lines = (await seen()).filter((line) => line.includes("ForeignSecret"));
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0] ?? "", /^Warning ForeignSecret: Secret "xbind-.*\/bait-.*is ignored/);
  });
  await t.step("a restart changes nothing", async () => {
    await world.restart("--issuer-scope=Namespace");
    await world.ready(await world.grant({ who: "honest-again" }));
  });
  await t.step("they stay when the Grant is deleted, and do not delay it", async () => {
    await kube.delete(GRANTS, { name: grant.metadata.name });
    await eventually("the Grant is gone", () => isGone(grant));
    assert.equal(await kube.find(SECRETS, tokenOf(grant)), undefined);
    // Kubernetes itself deletes the token Secret of the account.
    await eventually("the others are left", async () => await baits() === MANY);
  });
});

Deno.test("issuer() reports a Secret of another type in the token's place, and keeps it", async () => {
  const grant = await tenantOf("squatter");
  const { name, namespace } = tokenOf(grant);
  await world.stop();
  await kube.delete(SECRETS, tokenOf(grant));
  const labels = { [LABELS.grant]: grant.metadata.name };
  await kube.create(SECRETS, plainSecret(namespace, name, { labels }), FIELD_MANAGERS.cli);
  await world.restart("--issuer-scope=Namespace");
  const fault = /exists and is not of type kubernetes\.io\/service-account-token: remove it/;
  await world.unready(GRANTS, grant, "ProvisioningFailed", fault);
  assert.ok(await kube.find(SECRETS, tokenOf(grant)));
  await kube.delete(SECRETS, tokenOf(grant));
  await world.ready(grant, { timeoutMs: 90_000 });
});

Deno.test("issuer() deletes a revoked Grant in spite of objects with finalizers", async (t) => {
  const sample = { who: "clinger", exportName: "vault", relatedResources: [WRITES_SECRETS] };
  const grant = await world.ready(await world.grant(sample));
  using issued = await world.issued(grant);
  const namespace = boundaryOf(grant);
  const lease = { name: "clinging", namespace };
  await asTenant(
    "the Lease is written",
    () => issued.kube.create(LEASES, leaseOf(grant, lease), FIELD_MANAGERS.cli),
  );
  await t.step("the tenant adds a finalizer to its token Secret", async () => {
    const { metadata: { resourceVersion = "" } } = await issued.kube.get(SECRETS, tokenOf(grant));
    const patch = { metadata: { resourceVersion, finalizers: [HOLD] } };
    await issued.kube.mergePatch(SECRETS, tokenOf(grant), patch, FIELD_MANAGERS.cli);
  });
  const requests = await world.requestsDuring(async () => {
    await kube.delete(GRANTS, { name: grant.metadata.name });
    await eventually("the condition names the Lease", async () => {
      const ready = condition(await kube.get(GRANTS, { name: grant.metadata.name }), "Ready");
      return ready?.reason === "LeftBehind" &&
        ready.message.includes(`Lease "${namespace}/clinging"`);
    });
    await t.step("its rights are already revoked", async () => {
      await assert.rejects(issued.kube.get(LEASES, lease), isForbidden);
      await assert.rejects(issued.kube.list(customType(WIDGETS), { namespace }), isForbidden);
    });
    await eventually("the Grant is gone", () => isGone(grant));
  });
  await t.step("the issuer lists the leftovers only a few times", async () => {
    const lists = requests.filter(({ verb }) => verb === "list").length;
    assert.ok(lists <= 4 * 14, `${lists} lists`);
    const { name } = grant.metadata;
    const revoked = await eventually("it is logged", () => {
      return world.backend.log.find(({ code, grant }) =>
        code === "grant.revoked" && grant === name
      );
    });
    assert.match(String(revoked["left"]), /Lease "xbind-.*\/clinging"/);
  });
  await t.step("a re-bind works, with a new token", async () => {
    const again = await world.ready(await world.grant(sample));
    using renewed = await world.issued(again);
    await eventually("it has rights", () => renewed.kube.list(customType(WIDGETS), { namespace }));
  });
  await t.step("the Lease is still there", async () => {
    assert.ok(await kube.find(LEASES, lease));
    await world.edit(LEASES, lease, { metadata: { finalizers: null } });
  });
});

Deno.test("issuer() gives a Grant only the related resources that its Export offers", async (t) => {
  const grant = await world.ready(
    await world.grant({
      who: "eve",
      exportName: "plain",
      relatedResources: [
        { resource: "secrets", direction: "FromProvider" },
        { resource: "configmaps", direction: "FromConsumer" },
      ],
    }),
  );
  const { name } = grant.metadata;
  using issued = await world.issued(grant);
  const namespace = boundaryOf(grant);
  const refused = async () =>
    condition(await kube.get(GRANTS, { name }), "RelatedNotExported")?.message;
  const mayRead = (tenant: KubeClient) =>
    tenant.list(SECRETS, { namespace }).then(() => true, (error) => {
      if (!isForbidden(error)) throw error;
      return false;
    });
  await t.step("without an Export", async () => {
    await eventually("its API works", () => issued.kube.list(customType(WIDGETS), { namespace }));
    assert.equal(await mayRead(issued.kube), false);
    const all = /Export "plain" does not offer.*: secrets FromProvider, configmaps FromConsumer/;
    assert.match(await refused() ?? "", all);
    assert.ok(isReady(await kube.get(GRANTS, { name })));
    await eventually(
      "an Event is written",
      async () =>
        (await world.eventsOf(grant)).some((line) => line.startsWith("Warning RelatedNotExported")),
    );
  });
  await t.step("it gives a newly offered resource at once", async () => {
    const relatedResources: RelatedResource[] = [{
      resource: "secrets",
      direction: "FromProvider",
    }];
    await world.offer("plain", [WIDGETS], { defaults: { relatedResources } });
    await eventually("Secrets can be read", () => mayRead(issued.kube));
    await eventually(
      "the condition names the other one",
      async () => /: configmaps FromConsumer$/.test(await refused() ?? ""),
    );
  });
  await t.step("it takes back only a resource that is no longer offered", async () => {
    await world.edit(EXPORTS, { name: "plain" }, { spec: { defaults: null } });
    await eventually("Secrets are closed", async () => !await mayRead(issued.kube));
    await issued.kube.list(customType(WIDGETS), { namespace });
    await world.edit(GRANTS, { name }, { spec: { relatedResources: null } });
    await eventually("the condition is gone", async () => await refused() === undefined);
    await world.ready(grant);
  });
});

const tokenOf = (grant: Grant) => ({
  name: tokenSecretName(grant.metadata.name),
  namespace: boundaryOf(grant),
});

const leaseOf = (grant: Grant, place: { name: string; namespace: string }) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    ...place,
    finalizers: [HOLD],
    labels: { [LABELS.managed]: "true" },
    annotations: {
      [ANNOTATIONS.connection]: grant.metadata.name,
      [ANNOTATIONS.consumerClusterUid]: "some-cluster",
    },
  },
  spec: { renewTime: new Date().toISOString().replace("Z", "000Z") },
});
