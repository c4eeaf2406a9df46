import assert from "node:assert/strict";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS, FIELD_MANAGERS, heartbeatLeaseName } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  CRDS,
  type CustomResourceDefinition,
  isReady,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type PolicyRule,
  type Role,
} from "../../../common/api/resources.ts";
import { parseSummary } from "../../../common/api/sync_summary.ts";
import {
  type BoundRights,
  konnectorManifest,
} from "../../../common/consumer/konnector_manifest.ts";
import { VERSION } from "../../../common/version.ts";
import { Konnector } from "../../support/programs/konnector.ts";
import {
  admissionPolicy,
  judged,
  keyIn,
  told,
  writesOf,
} from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** The next heartbeat may be 30 s away. */
const A_HEARTBEAT = { timeoutMs: 60_000 };

/** Lets the provider refuse objects whose size is 10 or more. */
async function refuseLarge(bound: Bound): Promise<void> {
  const validations = [{ expression: "object.spec.size < 10", message: "it is too large" }];
  const spec = { matchConstraints: writesOf(bound), validations };
  await admissionPolicy(world, "Validating", spec, { validationActions: ["Deny"] });
  const place = { ...bound, namespace: "default" };
  await judged(world, place, { spec: { size: 50 } }, /it is too large/);
}

Deno.test("the heartbeat tells the cluster's name, its counts and its problems", async (t) => {
  const { uid = "" } =
    (await world.consumer.kube.get(NAMESPACES, { name: "kube-system" })).metadata;
  const bound = await world.bind("visible");
  const { type, api, namespace, grant } = bound;
  const { status: { namespace: boundary = "" } = {} } = grant;
  const key = { namespace: boundary, name: heartbeatLeaseName(bound.name, uid) };
  const lease = async (): Promise<Record<string, string>> =>
    (await world.provider.kube.get(LEASES, key)).metadata.annotations ?? {};
  const summary = async () => parseSummary((await lease())[ANNOTATIONS.syncSummary]);

  await t.step("at once its name and version", async () => {
    const annotations = await eventually("the Lease", lease);
    assert.equal(annotations[ANNOTATIONS.clusterName], uid.split("-")[0]);
    assert.equal(annotations[ANNOTATIONS.konnectorVersion], VERSION);
  });

  await t.step("with the next renewal what is not synced, and why", async () => {
    await refuseLarge(bound);
    await world.createForeign(bound, "taken");
    await world.create(bound, "taken");
    await world.create(bound, "large", { spec: { size: 50 } });
    await world.create(bound, "fine");
    const annotations = { [ANNOTATIONS.replace]: "yes" };
    await world.create(bound, "unclear", { spec: { size: 1 } }, { annotations });
    await told(world, bound, "unclear", "Rejected");
    await told(world, bound, "taken", "ForeignObjectExists");
    await told(world, bound, "large", "Rejected");
    const { problems, ...totals } = await eventually("the problems", async () => {
      const found = await summary();
      return found && found.problems.length === 3 && found.objects === 4 && found;
    }, A_HEARTBEAT);
    assert.deepEqual(totals, { objects: 4, conflicts: 1, rejected: 2 });
    const shown = problems.map(({ message, ...problem }) => ({
      ...problem,
      message: message !== "",
    }));
    assert.deepEqual(shown, [
      { api, namespace, name: "large", reason: "Rejected", message: true },
      { api, namespace, name: "unclear", reason: "Rejected", message: true },
      { api, namespace, name: "taken", reason: "ForeignObjectExists", message: true },
    ]);
    assert.match(problems[0]?.message ?? "", /it is too large/);
  });

  await t.step("problems end when the objects are mended", async () => {
    await world.edit("consumer", bound, "large", { spec: { size: 5 } });
    await world.onProvider(type, keyIn(bound, "large"));
    await world.consumer.kube.delete(type, keyIn(bound, "taken"));
    await world.consumer.kube.delete(type, keyIn(bound, "unclear"));
    await eventually("no problems", async () => {
      const found = await summary();
      return found?.problems.length === 0 && found.objects === 2;
    }, A_HEARTBEAT);
  });

  await t.step("no renewal comes early", async () => {
    const patches = await eventually("the renewals are logged", async () => {
      const found = await auditEvents(
        world.providerPlane,
        ({ stage, verb, objectRef, responseStatus }) =>
          stage === "ResponseComplete" && verb === "patch" && objectRef?.name === key.name &&
          responseStatus?.code === 200,
      );
      return found.length > 1 && found;
    });
    const times = patches.map(({ stageTimestamp }) => Date.parse(stageTimestamp));
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    assert.ok(gaps.every((gap) => gap > 20_000), gaps.join(", "));
  });

  await t.step("a restart changes the name", async () => {
    await world.kill();
    const { consumerPlane, kubeconfig } = world;
    const flags = ["--cluster-name=Prod EU-1"];
    world.konnector = await Konnector.start(consumerPlane, { kubeconfig, flags });
    await eventually(
      "the new name",
      async () => (await lease())[ANNOTATIONS.clusterName] === "Prod EU-1",
      A_HEARTBEAT,
    );
    const kept = await summary();
    assert.equal(kept?.objects, 2, "counts stay until the objects are known again");
  });
});

Deno.test("a konnector with rights on bound groups works there, and names what it lacks", async (t) => {
  const install = async (rights: BoundRights) => {
    const roles = konnectorManifest("any", rights).filter(({ kind }) => /Role$/.test(kind));
    await world.apply(roles);
    await world.restart();
  };
  const groupOf = ({ type }: Bound) => type.group;
  const [first, second] = [await world.bind("allowed"), await world.bind("denied")];
  const denied = async (is: boolean) => {
    return await eventually(`PermissionDenied of ${second.name} is ${is}`, async () => {
      const found = await world.consumer.kube.get(CLUSTER_BINDINGS, { name: second.name });
      const status = condition(found, "PermissionDenied");
      return status?.status === (is ? "True" : "False") && isReady(found) === !is && found;
    }, A_HEARTBEAT);
  };
  /** Makes an object, follows it to the provider and back, and deletes it. */
  const loop = async (bound: Bound, name: string) => {
    await world.create(bound, name);
    await world.onProvider(bound.type, keyIn(bound, name));
    await world.edit("provider", bound, name, { status: { phase: "Ready" } }, "status");
    await world.onConsumer(bound.type, keyIn(bound, name), ({ status }) => status !== undefined);
    await world.consumer.kube.delete(bound.type, keyIn(bound, name));
    await world.gone(bound.type, keyIn(bound, name));
  };

  await t.step("it syncs the group that it may use", async () => {
    await install({ groups: [groupOf(first)], related: [] });
    await denied(true);
    await world.ready(first);
    await loop(first, "one");
  });

  await t.step("the other binding names the rights and the remedy", async () => {
    const found = await denied(true);
    const message = condition(found, "PermissionDenied")?.message ?? "";
    const { plural, group } = second.type;
    const name = `${plural}.${group}`;
    for (const part of [`list ${name}`, `patch ${name}/status`, "kubectl bind connect"]) {
      assert.ok(message.includes(part), message);
    }
    assert.equal(condition(found, "Ready")?.reason, "Forbidden");
  });

  await t.step("it goes on by itself once it has the rights", async () => {
    const both = { groups: [groupOf(first), groupOf(second)], related: [] };
    const roles = konnectorManifest("any", both).filter(({ kind }) => /Role$/.test(kind));
    await world.apply(roles as KubeObject[]);
    await denied(false);
    await loop(second, "two");
  });

  await t.step("it binds and unbinds with these rights, and logs no failure", async () => {
    await world.consumer.kube.delete(CLUSTER_BINDINGS, { name: second.name });
    await eventually("the binding is gone", async () => {
      return await world.consumer.kube.find(CLUSTER_BINDINGS, { name: second.name }) === undefined;
    });
    const troubles = world.konnector.log.filter(({ level }) => level === "error");
    assert.deepEqual(troubles, []);
  });
});

/** The roles of the konnector for these groups, with these verbs only on one resource. */
const rolesWith = (groups: string[], resource: string, verbs: readonly string[]): KubeObject[] => {
  const only = (rule: PolicyRule): PolicyRule =>
    rule.resources?.includes(resource) ? { ...rule, verbs: [...verbs] } : rule;
  return (konnectorManifest("any", { groups, related: [] }) as Role[])
    .filter(({ kind }) => /Role$/.test(kind))
    .map((role) => ({ ...role, rules: role.rules?.map(only) ?? [] }));
};

Deno.test("a konnector names the rights that it lacks, and does without the right to install", async (t) => {
  const allRoles = konnectorManifest("any").filter(({ kind }) => /Role$/.test(kind));
  await world.apply(allRoles);
  const grown = await world.bind("grown");
  const bound = await world.bind("unequipped", { isApplied: false });
  const { name, api, type } = bound;
  const groups = [type.group, grown.type.group];
  const starts = async (roles: readonly KubeObject[], status: number, text: RegExp) => {
    await world.apply(roles);
    await world.restart();
    const url = new URL("/readyz", await world.konnector.addressOf("/readyz"));
    await eventually(`/readyz answers ${status} ${text}`, async () => {
      const answer = await fetch(url);
      return text.test(await answer.text()) && answer.status === status;
    });
  };

  await t.step("without the Secrets it is not ready, and says so", async () => {
    const place = 'secrets in namespace "xbind"';
    const missing = `list ${place}, watch ${place}, patch ${place}`;
    const text = new RegExp(`^not ready: the konnector may not ${missing} on this cluster; `);
    await starts(rolesWith(groups, "secrets", ["get"]), 503, text);
  });

  await t.step("without the right to install CRDs it is ready, and says so", async () => {
    const crds = "customresourcedefinitions";
    const all = `${crds}\\.apiextensions\\.k8s\\.io`;
    const text = new RegExp(`^ok, but .* may not create ${all}, patch ${all}, delete ${all} on`);
    await starts(rolesWith(groups, crds, ["get", "list", "watch"]), 200, text);
  });

  await t.step("it uses a CRD that somebody else installs", async () => {
    await world.apply(bound.bundle);
    const at = ["Ready", "False", "SchemaMissing"] as const;
    const found = await world.hasCondition(CLUSTER_BINDINGS, { name }, ...at);
    assert.match(condition(found, "Ready")?.message ?? "", /may not install the CRD/);
    const { apiVersion, kind, spec } = await world.provider.kube.get(CRDS, { name: api });
    const own = { apiVersion, kind, metadata: { name: api }, spec };
    await world.consumer.kube.create(CRDS, own, FIELD_MANAGERS.installer);
    await world.ready(bound);
    await world.create(bound, "a");
    await world.onProvider(type, keyIn(bound, "a"));
  });

  await t.step("it keeps the CRD that it may not change, and says so", async () => {
    const at = { name: grown.name };
    await world.provider.edit(CRDS, { name: grown.api }, ({ spec }: CustomResourceDefinition) => ({
      spec: { ...spec, names: { ...spec.names, shortNames: ["gr"] } },
    }));
    const found = await world.hasCondition(CLUSTER_BINDINGS, at, "PermissionDenied", "True");
    assert.match(condition(found, "PermissionDenied")?.message ?? "", /may not change the CRD/);
    assert.ok(isReady(found));
    await world.hasCondition(CONNECTIONS, at, "SchemaInSync", "False", "Forbidden");
    await world.create(grown, "a");
    await world.onProvider(grown.type, keyIn(grown, "a"));
  });

  await t.step("with all rights its readiness names none", async () => {
    await starts(allRoles, 200, /^ok$/);
  });
});
