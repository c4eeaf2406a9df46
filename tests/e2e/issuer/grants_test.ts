import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { IAM_API_VERSION } from "../../../common/api/groups.ts";
import {
  condition,
  CRDS,
  EXPORTS,
  type Grant,
  GRANTS,
  hasFinalizer,
  isReady,
  NAMESPACES,
  type RoleBinding,
} from "../../../common/api/resources.ts";
import { isConflict, KubeError } from "../../../common/kube/kube_error.ts";
import {
  ANNOTATIONS,
  CLEANUP_FINALIZER,
  FIELD_MANAGERS,
  identityHash,
  LABELS,
} from "../../../common/api/names.ts";
import { sleep } from "../../../common/time/wait.ts";
import { allRules } from "../../support/planes/issued_rights.ts";
import { boundaryOf, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const GADGETS = "gadgets.example.org";
await world.define(GADGETS);

/** Waits until the credentials of a Grant open these resources, beyond those of every Grant. */
async function opens(grant: Grant, ...resources: string[]): Promise<void> {
  using issued = await world.issued(grant);
  await eventually(`${grant.metadata.name} opens ${resources}`, async () => {
    const rules = await allRules(issued.kube, "default");
    const opened = rules.map((rule) => rule.split(" ")[1] ?? "")
      .filter((resource) => !/customresourcedefinitions$|namespaces|\/status$/.test(resource));
    assert.deepEqual(opened.sort(), resources.sort());
    return true;
  });
}

Deno.test("issuer() gives each identity a boundary, and each Grant an account", async () => {
  const samples = ["ada", "bob"].flatMap((who) =>
    ["widgets", "gadgets"].map((exportName) => ({
      who,
      exportName,
      apis: [`${exportName}.example.org`],
    }))
  );
  const grants = await Promise.all(samples.map((sample) => world.grant(sample)));
  const ready = await Promise.all(grants.map((grant) => world.ready(grant)));
  const boundaries = new Set(ready.map(({ status }) => status?.namespace));
  assert.equal(boundaries.size, 2);
  for (const grant of ready) {
    const { name } = grant.metadata;
    const namespace = boundaryOf(grant);
    const { conditions, ...places } = grant.status ?? {};
    assert.deepEqual(places, { namespace, serviceAccount: name, tokenSecret: `${name}-token` });
    assert.deepEqual(conditions?.map(({ type, status, reason }) => [type, status, reason]), [
      ["Ready", "True", "AsExpected"],
    ]);
    assert.ok(hasFinalizer(grant, CLEANUP_FINALIZER));

    const objects = await world.issuedObjects(grant);
    assert.equal(objects.size, 7);
    for (const [kind, { metadata }] of objects) {
      if (kind === "Namespace") {
        assert.equal(metadata.labels?.[LABELS.identity], identityHash(grant.spec.identity.subject));
        assert.equal(metadata.labels?.[LABELS.managed], "true");
      } else assert.equal(metadata.labels?.[LABELS.grant], name);
    }
    for (const kind of ["RoleBinding", "ClusterRoleBinding"]) {
      const { subjects } = objects.get(kind) as RoleBinding;
      assert.deepEqual(subjects, [{ kind: "ServiceAccount", name, namespace }]);
    }
    await opens(grant, `example.org/${grant.spec.exportName}`);
  }
});

Deno.test("issuer() creates the ClusterRole before any object in a new namespace", async () => {
  const requests = await world.requestsDuring(async () => {
    await world.ready(await world.grant({ who: "newcomer" }));
  });
  const made = requests.filter(({ verb }) => verb === "create");
  const madeOf = (resource: string) =>
    made.find(({ objectRef }) => objectRef?.resource === resource) ?? assert.fail(resource);
  const inNamespace = made.filter(({ objectRef }) => objectRef?.namespace?.startsWith("xbind-"));
  assert.deepEqual(inNamespace.map(({ objectRef }) => objectRef?.resource).sort(), [
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
  ]);
  for (const { objectRef, requestReceivedTimestamp } of inNamespace) {
    for (const earlier of ["namespaces", "clusterroles"]) {
      const { stageTimestamp } = madeOf(earlier);
      assert.ok(stageTimestamp <= requestReceivedTimestamp, `${objectRef?.resource}: ${earlier}`);
    }
  }
});

Deno.test("issuer() provisions a Grant with any valid name", async (t) => {
  const long = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}`;
  assert.equal(long.length, 253);
  const samples = {
    "of an Export with a name of 253 characters": { exportName: long },
    "of an Export with a name of 63 characters": { exportName: "e".repeat(63) },
    "made by hand": { name: "made-by-hand" },
    "made by hand, with dots": { name: "made.by.hand", who: "dot" },
    "made by hand, with 63 characters": { name: "m".repeat(63) },
  };
  for (const [name, sample] of Object.entries(samples)) {
    await t.step(name, async () => {
      const grant = await world.ready(await world.grant({ who: "names", ...sample }));
      await opens(grant, "example.org/widgets");
      assert.equal((await world.issuedObjects(grant)).size, 7);
    });
  }
});

Deno.test("issuer() gives no rights to an API that is not exported", async (t) => {
  await world.define("hidden.example.org", {});
  await world.define("halves.example.org", { [LABELS.exported]: "false" });
  const table: Record<string, string[]> = {
    "built-in APIs": ["deployments.apps", "clusterroles.rbac.authorization.k8s.io"],
    "the API of CRDs": ["customresourcedefinitions.apiextensions.k8s.io"],
    "a CRD without the label": ["hidden.example.org"],
    "a CRD with another value of the label": ["halves.example.org"],
    "a CRD that does not exist": ["nothing.example.org"],
  };
  for (const [name, apis] of Object.entries(table)) {
    await t.step(name, async () => {
      const who = name.replaceAll(" ", "-");
      const grant = await world.grant({ who, apis: [WIDGETS, ...apis] });
      const { message } = await world.unready(GRANTS, grant, "APINotExported");
      assert.equal(
        message,
        `These CRDs are missing or lack the label core.xbind.io/exported=true: ${apis.join(", ")}`,
      );
      await opens(grant, "example.org/widgets");
      await eventually(
        "there is an Event",
        async () => (await world.eventsOf(grant)).includes(`Warning APINotExported: ${message}`),
      );
    });
  }
  for (
    const api of [
      "*.example.org",
      "*",
      "widgets",
      "widgets/status.example.org",
      "grants.iam.xbind.io",
    ]
  ) {
    await t.step(`the API server refuses ${api}`, async () => {
      await assert.rejects(
        world.grant({ who: "malformed", apis: [api] }),
        (error) => error instanceof KubeError && error.reason === "Invalid",
      );
    });
  }
});

Deno.test("issuer() keeps granted APIs whose CRD lost the label, and adds labelled APIs at once", async () => {
  const api = "labelled.example.org";
  await world.define(api);
  const before = await world.grant({ who: "before", apis: [api] });
  await world.ready(before);
  /** Its condition tells what the issuer knows of the API. */
  const offered = await world.offerReady("labelled", [api]);
  await world.label(api, null);
  await world.unready(EXPORTS, offered, "APINotExported");
  const after = await world.grant({ who: "after", apis: [api] });
  await world.unready(GRANTS, after, "APINotExported", /: labelled\.example\.org$/);
  await opens(after);
  await opens(before, "example.org/labelled");

  // Neither a restart nor a change of the Grant takes the API away.
  await world.restart();
  await world.edit(GRANTS, before.metadata, { spec: { apis: [{ name: api }, { name: WIDGETS }] } });
  await world.ready(before);
  await opens(before, "example.org/labelled", "example.org/widgets");

  await world.label(api, "true");
  await world.ready(after);
  await opens(after, "example.org/labelled");

  await eventually("the Export is Ready again", async () => {
    return isReady(await world.kube.get(EXPORTS, offered.metadata));
  });
  await world.kube.delete(CRDS, { name: api });
  await world.unready(EXPORTS, offered, "APINotExported");
  const late = await world.grant({ who: "late", apis: [api] });
  await world.unready(GRANTS, late, "APINotExported");
  await world.ready(before);
  await world.define(api);
  await world.ready(late);
});

Deno.test("issuer() updates the rights of a Grant that is bound again with other APIs", async () => {
  const related = (resource: "secrets" | "configmaps") => ({
    resource,
    direction: "FromProvider" as const,
  });
  const relatedResources = [related("secrets")];
  const exportName = "rebound";
  const offered = { relatedResources: [related("secrets"), related("configmaps")] };
  await world.offer(exportName, [WIDGETS, GADGETS], { defaults: offered });
  const apis = [WIDGETS, GADGETS];
  const grant = await world.grant({ who: "rebound", exportName, apis, relatedResources });
  await opens(grant, "example.org/widgets", "example.org/gadgets", "/secrets");
  const change = (spec: object) => world.edit(GRANTS, grant.metadata, { spec });

  const narrowed = await change({ apis: [{ name: GADGETS }], relatedResources: null });
  assert.equal(narrowed.metadata.generation, 2);
  const ready = condition(await world.ready(grant), "Ready");
  assert.equal(ready?.observedGeneration, 2);
  await opens(grant, "example.org/gadgets");

  await change({ apis: [{ name: WIDGETS }], relatedResources: [related("configmaps")] });
  assert.equal(condition(await world.ready(grant), "Ready")?.observedGeneration, 3);
  await opens(grant, "example.org/widgets", "/configmaps");

  await change({ apis: [{ name: "nothing.example.org" }] });
  const unready = await world.unready(GRANTS, grant, "APINotExported");
  assert.equal(unready.observedGeneration, 4);
  await opens(grant, "/configmaps");
});

Deno.test("issuer() writes each Event about a Grant once", async () => {
  const grant = await world.grant({ who: "news", apis: [WIDGETS, "later.example.org"] });
  const { message } = await world.unready(GRANTS, grant, "APINotExported");
  await world.define("later.example.org");
  await world.ready(grant);
  for (const [index, apis] of [[WIDGETS], [WIDGETS, "none.example.org"], [WIDGETS]].entries()) {
    await world.edit(GRANTS, grant.metadata, { spec: { apis: apis.map((name) => ({ name })) } });
    if (index === 1) await world.unready(GRANTS, grant, "APINotExported");
    else await world.ready(grant);
  }
  await world.kube.delete(GRANTS, grant.metadata);
  const events = await eventually("the last Event is written", async () => {
    const all = await world.eventsOf(grant);
    return all.some((event) => event.includes("Revoked")) && all;
  });
  assert.deepEqual(events, [
    `Warning APINotExported: ${message}`,
    "Normal Provisioned: Credentials are issued",
    `Warning APINotExported: ${message.replace("later", "none")}`,
    "Normal Revoked: Its rights and its credentials are gone",
  ]);
  const audit = world.backend.log.filter(({ grant: name }) => name === grant.metadata.name);
  assert.deepEqual(audit.map(({ code }) => code), [
    "grant.not-provisioned",
    "grant.provisioned",
    "grant.not-provisioned",
    "grant.provisioned",
    "grant.revoked",
  ]);
});

Deno.test("issuer() removes the reaper's mark from the boundary of a new Grant", async (t) => {
  const marked = { metadata: { annotations: { [ANNOTATIONS.reapBoundary]: "uid" } } };
  const first = await world.ready(await world.grant({ who: "spared" }));
  const key = { name: boundaryOf(first) };
  await sleep(1_000); // makes the boundary older than the next Grant: times are whole seconds
  await t.step("it removes the mark before the Grant is Ready", async () => {
    const { metadata: { uid = "", resourceVersion = "" } } = await world.edit(
      NAMESPACES,
      key,
      marked,
    );
    const writes = await world.writesDuring(async () => {
      await world.ready(await world.grant({ who: "spared", exportName: "others" }));
    });
    const unmarked = writes.indexOf(`patch namespaces ${key.name}`);
    const ready = writes.findLastIndex((write) => write.startsWith("patch grants/status"));
    assert.ok(unmarked >= 0 && unmarked < ready, `${writes}`);
    const { metadata } = await world.kube.get(NAMESPACES, key);
    assert.equal(metadata.annotations?.[ANNOTATIONS.reapBoundary], undefined);
    await assert.rejects(world.kube.delete(NAMESPACES, key, { uid, resourceVersion }), isConflict);
  });
  await t.step("it keeps the mark for a Grant that is Ready already", async () => {
    await world.edit(NAMESPACES, key, marked);
    const before = await world.reconciles("grant");
    await world.edit(GRANTS, first.metadata, { metadata: { annotations: { touched: "yes" } } });
    await eventually("it was reconciled", async () => await world.reconciles("grant") > before);
    const { metadata } = await world.kube.get(NAMESPACES, key);
    assert.equal(metadata.annotations?.[ANNOTATIONS.reapBoundary], "uid");
  });
  await t.step("it does not read a boundary that it has just created", async () => {
    const requests = await world.requestsDuring(async () => {
      await world.ready(await world.grant({ who: "stranger" }));
    });
    const ofNamespaces = requests.filter(({ objectRef }) => objectRef?.resource === "namespaces");
    assert.deepEqual(ofNamespaces.map(({ verb }) => verb), ["create"]);
  });
});

Deno.test("issuer(), reaper and gateway write one Grant at the same time without losing a write", async () => {
  const ROUNDS = 25;
  const grant = await world.grant({ who: "busy" });
  const { name } = grant.metadata;
  const reaper = async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      const stale = {
        type: "Stale",
        status: round % 2 ? "False" : "True",
        reason: "AsExpected",
        message: `round ${round}`,
        lastTransitionTime: new Date().toISOString(),
      };
      const status = { conditions: [stale] };
      const update = { apiVersion: IAM_API_VERSION, kind: "Grant", metadata: { name }, status };
      await world.kube.applyStatus(GRANTS, update as Grant, FIELD_MANAGERS.reaper);
    }
  };
  const gateway = async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      await eventually(`round ${round}`, async () => {
        const { metadata: { resourceVersion = "" } } = await world.kube.get(GRANTS, { name });
        const annotations = { [ANNOTATIONS.boundAt]: `${round}` };
        const apis = [{ name: WIDGETS }, ...(round % 2 ? [] : [{ name: GADGETS }])];
        const patch = { metadata: { resourceVersion, annotations }, spec: { apis } };
        return await world.kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.gateway);
      });
    }
  };
  await Promise.all([reaper(), gateway()]);
  const settled = await world.ready(grant);
  assert.equal(condition(settled, "Stale")?.message, `round ${ROUNDS}`);
  assert.equal(settled.metadata.annotations?.[ANNOTATIONS.boundAt], `${ROUNDS}`);
  assert.equal(condition(settled, "Ready")?.observedGeneration, settled.metadata.generation);
  assert.ok(hasFinalizer(settled, CLEANUP_FINALIZER));
  await opens(grant, "example.org/widgets");
});

Deno.test("issuer() writes nothing when it reconciles unchanged Grants", async () => {
  const grants = await world.kube.list(GRANTS);
  assert.ok(grants.length > 10);
  const writes = await world.writesDuring(async () => {
    const reconciled = await world.reconciles("grant");
    for (const { metadata } of grants) {
      const annotations = { "example.org/touched": "yes" };
      await world.edit(GRANTS, metadata, { metadata: { annotations } });
    }
    await eventually("the issuer reconciled all Grants", async () => {
      return await world.reconciles("grant") >= reconciled + grants.length;
    });
  });
  assert.deepEqual(writes, []);
  assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
});
