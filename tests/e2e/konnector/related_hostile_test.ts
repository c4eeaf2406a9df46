import assert from "node:assert/strict";
import { FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLES,
  condition,
  CONFIG_MAPS,
  type PolicyRule,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { heapOf, READABLE_HEAP } from "../../support/programs/heap.ts";
import { admissionPolicy, aWhile, judged } from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { RelatedSteps, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
const related = new RelatedSteps(world);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => void (world.providerProxy.faults = () => undefined));

const BOOTSTRAP = "bootstrap.kubernetes.io/token";
const SERVICE_ACCOUNT = "kubernetes.io/service-account-token";
const HELM = "helm.sh/release.v1";

async function unbind({ name }: Bound): Promise<void> {
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
}

Deno.test("a provider cannot plant tokens, Helm releases, or anything in protected namespaces", async () => {
  const namespace = uniqueName("planted");
  const id = uniqueName("plant").replaceAll("-", "").slice(-6);
  const token = `bootstrap-token-${id}`;
  const bound = await world.bind("plant", {
    relatedResources: [rule("secrets", "FromProvider"), rule("configmaps", "FromProvider")],
  });
  for (const place of ["kube-system", namespace]) {
    await related.put("provider", "secrets", { namespace: place, name: token }, "x", {
      type: BOOTSTRAP,
    });
  }
  for (const place of ["kube-system", "kube-public", "kube-made-up", "xbind"]) {
    await related.put("provider", "secrets", { namespace: place, name: id }, "x");
    await related.put("provider", "configmaps", { namespace: place, name: id }, "x");
  }
  await related.put("provider", "secrets", { namespace, name: "release" }, "x", { type: HELM });
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: id, namespace } };
  await provider.kube.create(SERVICE_ACCOUNTS, account, FIELD_MANAGERS.installer);
  await provider.kube.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "account",
      namespace,
      annotations: { "kubernetes.io/service-account.name": id },
    },
    type: SERVICE_ACCOUNT,
  }, FIELD_MANAGERS.installer);
  await related.put("provider", "secrets", { namespace, name: "good" }, "good");
  await related.has("consumer", "secrets", { namespace, name: "good" }, "good");
  await aWhile();
  const planted = async () =>
    (await Promise.all(
      [SECRETS, CONFIG_MAPS].map((type) =>
        consumer.kube.list(type, { labelSelector: `${LABELS.managed}=true` })
      ),
    )).flat().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      .filter((each) => !each.endsWith("/kube-root-ca.crt"));
  assert.deepEqual(await planted(), [`${namespace}/good`]);

  const flags = ["--related-allow=namespace:kube-public,type:helm.sh/release.v1"];
  await world.restart({ flags });
  await related.has("consumer", "secrets", { namespace: "kube-public", name: id }, "x");
  await related.has("consumer", "configmaps", { namespace: "kube-public", name: id }, "x");
  await related.has("consumer", "secrets", { namespace, name: "release" }, "x");
  await aWhile();
  const expected = [
    `${namespace}/good`,
    `${namespace}/release`,
    ...Array(2).fill(`kube-public/${id}`),
  ];
  assert.deepEqual((await planted()).sort(), expected.sort());
  await unbind(bound);
  assert.deepEqual(await planted(), []);
  await world.restart();
});

Deno.test("credentials of the consumer never reach the provider", async () => {
  const bound = await world.bind("exfil", { relatedResources: [rule("secrets", "FromConsumer")] });
  const namespace = uniqueName("mine");
  await related.put("consumer", "secrets", { namespace: "kube-system", name: namespace }, "x");
  await related.put("consumer", "secrets", { namespace, name: "good" }, "good");
  await related.has("provider", "secrets", { namespace, name: "good" }, "good");
  await aWhile();
  const labelSelector = `${LABELS.managed}=true,${LABELS.consumerClusterUid}`;
  const copies = await provider.kube.list(SECRETS, { labelSelector });
  assert.deepEqual(copies.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`), [
    `${namespace}/good`,
  ]);
  await unbind(bound);
});

Deno.test("malformed answers of a provider are reported, and nothing of them is stored", async () => {
  const label = uniqueName("label");
  const bound = await world.bind("odd", {
    relatedResources: [rule("secrets", "FromProvider", { label })],
  });
  const namespace = uniqueName("odd");
  const odd = await related.put("provider", "secrets", { namespace, name: "odd" }, "x");
  const body = JSON.stringify({
    ...odd,
    metadata: { ...odd.metadata, labels: { [label]: "yes" } },
    data: { value: { nested: 7 } },
  });
  world.providerProxy.faults = ({ method, path }) =>
    method === "GET" && path.endsWith(`/${namespace}/secrets/odd`)
      ? { kind: "status", code: 200, body }
      : undefined;
  await related.patch("provider", "secrets", { namespace, name: "odd" }, [
    { op: "add", path: "/metadata/labels", value: { [label]: "yes" } },
  ]);
  const { name } = bound;
  const told = await world.hasCondition(CLUSTER_BINDINGS, { name }, "Synced", "False", "Rejected");
  assert.match(condition(told, "Synced")?.message ?? "", /\/odd is not copied: .*malformed/);
  assert.equal(condition(told, "Ready")?.status, "True");
  await related.put("provider", "secrets", { namespace, name: "even" }, "x", { labels: [label] });
  await related.has("consumer", "secrets", { namespace, name: "even" }, "x");
  assert.equal(await related.find("consumer", "secrets", { namespace, name: "odd" }), undefined);
  world.providerProxy.faults = () => undefined;
  await related.write("provider", "secrets", { namespace, name: "odd" }, "mended");
  await related.has("consumer", "secrets", { namespace, name: "odd" }, "mended");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Synced", "True");
  await unbind(bound);
});

Deno.test("a refused Secret is reported without the words of the provider", async () => {
  const namespace = uniqueName("quoting");
  const name = uniqueName("quoting");
  await admissionPolicy(world, "Validating", {
    matchConstraints: {
      resourceRules: [{
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["CREATE", "UPDATE"],
        resources: ["secrets"],
      }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    },
    validations: [{
      expression: "false",
      messageExpression: "'no: ' + string(object.data.value)",
    }],
  }, { validationActions: ["Deny"] });
  await provider.makeNamespace(namespace);
  const bound = await world.bind("quote", {
    relatedResources: [rule("secrets", "FromConsumer", { names: [name] })],
  });
  const data = { value: btoa("probe") };
  await judged(world, { type: SECRETS as unknown as Bound["type"], namespace }, { data }, /no: /);
  await related.put("consumer", "secrets", { namespace, name }, "the-password");
  const told = await world.hasCondition(
    CLUSTER_BINDINGS,
    { name: bound.name },
    "Synced",
    "False",
    "Rejected",
  );
  assert.match(condition(told, "Synced")?.message ?? "", /the provider refused it: /);
  const said = [JSON.stringify(told.status), ...world.konnector.lines].join("\n");
  for (const form of ["the-password", btoa("the-password")]) {
    assert.equal(said.includes(form), false, said);
  }
  await unbind(bound);
});

Deno.test("without a right on the consumer, only what needs it is not copied", async () => {
  const label = uniqueName("label");
  const { rules = [] } = await consumer.kube.get(CLUSTER_ROLES, { name: "konnector" });
  const setRights = (value: readonly PolicyRule[]) =>
    consumer.kube.jsonPatch(CLUSTER_ROLES, { name: "konnector" }, [
      { op: "add", path: "/rules", value },
    ], { manager: FIELD_MANAGERS.installer });
  const narrow = rules.filter(({ apiGroups }) => !apiGroups?.includes("*"));
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  await setRights([...narrow, { apiGroups: ["rights.example.org"], resources: ["*"], verbs }]);
  const bound = await world.bind("rights", {
    relatedResources: [
      rule("secrets", "FromProvider", { label }),
      rule("secrets", "FromConsumer", { label }),
    ],
  });
  const { name, namespace, type } = bound;
  const [down, up] = [{ namespace, name: "down" }, { namespace, name: "up" }];
  await related.put("provider", "secrets", down, "d", { labels: [label] });
  await related.put("consumer", "secrets", up, "u", { labels: [label] });
  const told = await world.hasCondition(CLUSTER_BINDINGS, { name }, "PermissionDenied", "True");
  assert.match(
    condition(told, "PermissionDenied")?.message ?? "",
    /Related secrets FromProvider are not copied: on this cluster .* may not create, delete secrets/,
  );
  assert.equal(condition(told, "Ready")?.status, "True");
  await related.has("provider", "secrets", up, "u");
  await world.create(bound, "object");
  await world.onProvider(type, { namespace, name: "object" });
  assert.equal(await related.find("consumer", "secrets", down), undefined);
  await setRights(rules);
  // The konnector asks again every 30 s; a new rule makes it ask at once.
  await related.setRules(bound, [rule("secrets", "FromProvider", { label, names: ["down"] })]);
  await related.has("consumer", "secrets", down, "d");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "PermissionDenied", "False");
  await unbind(bound);
});

Deno.test("of 5,000 labelled Secrets only the three that match get into the process", async () => {
  const label = uniqueName("label");
  const namespace = uniqueName("crowd");
  const wanted = ["a", "b", "c"].map((each) => uniqueName(`wanted-${each}`));
  const crowd = uniqueName("crowd-member");
  // Its length lets a search for the beginning find it in base64, too.
  const secretPart = `marker-${crypto.randomUUID()}`.slice(0, 42);
  const value = (index: number) => `${secretPart}${index}`;
  await provider.makeNamespace(namespace);
  const put = (name: string, index: number) =>
    related.put("provider", "secrets", { namespace, name }, value(index), {
      labels: [label],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": value(index) },
    });
  const COUNT = 5_000;
  const LANES = 20;
  await Promise.all(Array.from({ length: LANES }, async (_, lane) => {
    for (let index = lane; index < COUNT; index += LANES) await put(`${crowd}-${index}`, index);
  }));
  await world.restart(READABLE_HEAP);
  await world.konnector.logged("listening");
  await world.bind("crowd", {
    relatedResources: [rule("secrets", "FromProvider", { label, names: wanted })],
  });
  for (const [index, name] of wanted.entries()) {
    await put(name, index);
    await related.has("consumer", "secrets", { namespace, name }, value(index));
  }
  await related.write("provider", "secrets", { namespace, name: `${crowd}-7` }, value(7));
  await aWhile();
  const heap = await heapOf(world.konnector);
  for (const name of wanted) {
    assert.ok(heap.includes(name), `${name} is missing, so the search proves nothing`);
  }
  assert.equal(heap.includes(crowd), false, "no name of another Secret is in the heap");
  for (const form of [secretPart, btoa(secretPart)]) {
    assert.equal(heap.includes(form), false, "no value of a Secret is in the heap");
  }
  const copies = await consumer.kube.list(SECRETS, { namespace });
  assert.equal(copies.length, wanted.length);
});
