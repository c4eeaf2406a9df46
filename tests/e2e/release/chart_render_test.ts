import assert from "node:assert/strict";
import type { KubeObject } from "../../../common/api/resources.ts";
import { parseConfig } from "../../../server/config.ts";
import { FLAGS } from "../../../server/flag_table.ts";
import { envName, type FlagTable } from "../../../common/flags/flag_kinds.ts";
import {
  CHART,
  containerOf,
  deploymentOf,
  helm,
  ofKind,
  refusal,
  render,
  rulesOf,
  type Values,
} from "../../support/worlds/chart.ts";

const LOGIN: Values = { "oidc.issuerUrl": "https://idp.example.org", "oidc.clientId": "xbind" };
const SWITCHES = [
  "gateway.enabled",
  "issuer.enabled",
  "reaper.enabled",
  "apply.enabled",
  "kubernetesAuth",
  "installCrds",
] as const;
const KINDS = [
  "ClusterRole",
  "ClusterRoleBinding",
  "Deployment",
  "PodDisruptionBudget",
  "Role",
  "RoleBinding",
  "Service",
  "ServiceAccount",
];

type Combination = Record<typeof SWITCHES[number], boolean> & { replicaCount: number };

const combinations: Combination[] = [1, 2].flatMap((replicaCount) =>
  Array.from({ length: 2 ** SWITCHES.length }, (_, bits) => {
    const states = SWITCHES.map((path, bit) => [path, (bits >> bit) % 2 === 1]);
    return { ...Object.fromEntries(states), replicaCount };
  })
);

const describe = (combination: Combination): string =>
  `${SWITCHES.filter((path) => combination[path]).join(", ")} × ${combination.replicaCount}`;

/** Returns the reason why the backend would not start with these modules. */
function fault(chosen: Combination): RegExp | undefined {
  if (!chosen["gateway.enabled"] && !chosen["issuer.enabled"] && !chosen["reaper.enabled"]) {
    return /there is nothing to run/;
  }
  return chosen["apply.enabled"] && !chosen["gateway.enabled"]
    ? /apply\.enabled needs gateway\.enabled/
    : undefined;
}

/** Asserts that the backend reads the chosen settings from its arguments. */
function assertUnderstood(objects: readonly KubeObject[], chosen: Combination): void {
  const invocation = parseConfig(containerOf(objects).args, {});
  assert.ok(invocation.kind === "run");
  const { config } = invocation;
  assert.deepEqual({
    "gateway.enabled": config.enableGateway,
    "issuer.enabled": config.enableIssuer,
    "reaper.enabled": config.enableReaper,
    "apply.enabled": config.enableApply,
    "kubernetesAuth": config.kubernetesAuth,
    "installCrds": config.installCrds,
    replicaCount: config.leaderElect ? 2 : 1,
  }, { ...chosen, kubernetesAuth: chosen.kubernetesAuth && chosen["gateway.enabled"] });
}

function assertPorts(objects: readonly KubeObject[], chosen: Combination): void {
  const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(objects);
  const hasManager = chosen["issuer.enabled"] || chosen["reaper.enabled"];
  const served = Object.fromEntries(ports.map(({ name, containerPort }) => [name, containerPort]));
  assert.deepEqual(served, {
    ...(chosen["gateway.enabled"] && { http: 8080 }),
    ...(hasManager && { metrics: 8086, health: 8082 }),
  });
  const port = hasManager ? 8082 : 8080;
  const live = { port, path: hasManager ? "/healthz" : "/api/healthz" };
  assert.deepEqual(startupProbe?.httpGet, live);
  assert.deepEqual(livenessProbe?.httpGet, live);
  assert.deepEqual(readinessProbe?.httpGet, {
    port,
    path: hasManager ? "/readyz" : "/api/healthz",
  });
}

function assertService(objects: readonly KubeObject[], chosen: Combination): void {
  const services = ofKind<KubeObject & { spec: Record<string, unknown> }>(objects, "Service");
  assert.deepEqual(
    services.map(({ spec: { type, ports } }) => ({ type, ports })),
    chosen["gateway.enabled"]
      ? [{
        type: "ClusterIP",
        ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP", appProtocol: "http" }],
      }]
      : [],
  );
  const labels = deploymentOf(objects).spec.template.metadata.labels ?? {};
  for (const { spec: { selector } } of services) {
    for (const [key, value] of Object.entries(selector as object)) assert.equal(labels[key], value);
  }
}

function assertRights(objects: readonly KubeObject[], chosen: Combination): void {
  const hasManager = chosen["issuer.enabled"] || chosen["reaper.enabled"];
  const rules = rulesOf(objects);
  const roles = [
    ...(chosen.installCrds ? ["crds"] : []),
    ...(chosen["gateway.enabled"] ? ["gateway"] : []),
    ...(chosen["issuer.enabled"] ? ["issuer"] : []),
    ...(hasManager && chosen.replicaCount > 1 ? ["leader"] : []),
    ...(chosen["reaper.enabled"] ? ["reaper"] : []),
  ];
  assert.deepEqual([...rules.keys()].sort(), roles);
  const reviews = rules.get("gateway")?.some(({ resources }) =>
    resources?.includes("tokenreviews")
  );
  assert.equal(reviews ?? false, chosen["gateway.enabled"] && chosen.kubernetesAuth);
  const bindings = objects.filter(({ kind }) =>
    kind.endsWith("RoleBinding")
  ) as (KubeObject & { roleRef: { name: string }; subjects: unknown })[];
  const { serviceAccountName: name } = deploymentOf(objects).spec.template.spec;
  assert.equal(bindings.length, roles.length);
  for (const { metadata, roleRef, subjects } of bindings) {
    assert.equal(roleRef.name, metadata.name);
    assert.deepEqual(subjects, [{ kind: "ServiceAccount", name, namespace: "xbind-system" }]);
  }
}

Deno.test("helm lint --strict accepts the chart", async (t) => {
  const cases: Record<string, Values> = {
    "with default values": {},
    "with everything on": {
      ...LOGIN,
      ...Object.fromEntries(SWITCHES.map((path) => [path, true])),
      replicaCount: 2,
      "metrics.serviceMonitor.enabled": true,
      "metrics.prometheusRule.enabled": true,
      "metrics.dashboard.enabled": true,
    },
  };
  for (const [name, values] of Object.entries(cases)) {
    await t.step(name, async () => {
      const { code, stdout, stderr } = await helm(["lint", "--strict", CHART], values);
      assert.equal(code, 0, stdout + stderr);
      assert.doesNotMatch(stdout, /\[(WARNING|ERROR)\]/);
    });
  }
});

Deno.test("the chart renders or refuses every combination of modules", async (t) => {
  for (const chosen of combinations) {
    await t.step(describe(chosen), async () => {
      const reason = fault(chosen);
      if (reason) return assert.match(await refusal({ ...LOGIN, ...chosen }), reason);
      const objects = await render({ ...LOGIN, ...chosen });
      for (const { kind } of objects) assert.ok(KINDS.includes(kind), kind);
      assert.equal(deploymentOf(objects).spec.replicas, chosen.replicaCount);
      const budgets = ofKind(objects, "PodDisruptionBudget").length;
      assert.equal(budgets, chosen.replicaCount > 1 ? 1 : 0);
      assertUnderstood(objects, chosen);
      assertPorts(objects, chosen);
      assertService(objects, chosen);
      assertRights(objects, chosen);
    });
  }
});

Deno.test("the chart passes secrets as variables, and every other flag as an argument", async () => {
  const file = { existingConfigMap: "cas", existingSecret: "" };
  const { args, env } = containerOf(
    await render({
      ...LOGIN,
      ...Object.fromEntries(SWITCHES.map((path) => [path, true])),
      "gateway.externalUrl": "https://gateway.example.org",
      "gateway.externalAddress": "https://api.example.org",
      "gateway.externalCa": file,
      "oidc.clientSecret.existingSecret": "client",
      "oidc.ca": file,
      "oidc.groupsClaim": "groups",
      "oidc.redirectUrl": "https://gateway.example.org/back",
      "oidc.mock.listen": "127.0.0.1:9000",
      "cookieKeys.existingSecret": "keys",
      "kubeconfig.existingSecret": "kubeconfig",
      "log.encoder": "console",
      "log.level": 3,
      "log.stacktraceLevel": "panic",
    }),
  );
  const given = args.map((arg) => /^--([a-z-]+)=/.exec(arg)?.[1] ?? arg);
  const flags: FlagTable = FLAGS;
  const names = Object.keys(FLAGS);
  assert.deepEqual(given.sort(), names.filter((name) => !flags[name]?.secret).sort());
  const secrets = env.filter(({ valueFrom }) => valueFrom?.secretKeyRef).map(({ name }) => name);
  assert.deepEqual(secrets.sort(), names.filter((name) => flags[name]?.secret).map(envName).sort());
  const { valueFrom } = env.find(({ name }) => name === "POD_NAMESPACE") ?? {};
  assert.deepEqual(valueFrom, { fieldRef: { fieldPath: "metadata.namespace" } });
});

Deno.test("the chart uses configured ports, and omits disabled probes", async () => {
  const moved = containerOf(
    await render({
      "gateway.listenAddress": "[::]:9080",
      "metrics.bindAddress": "0.0.0.0:9086",
      "healthProbe.bindAddress": ":9082",
    }),
  );
  assert.deepEqual(moved.ports.map(({ containerPort }) => containerPort).sort(), [
    9080,
    9082,
    9086,
  ]);
  assert.equal(moved.livenessProbe?.httpGet.port, 9082);
  const off = { "metrics.bindAddress": "0", "healthProbe.bindAddress": "0" };
  const gateway = containerOf(await render(off));
  assert.deepEqual(gateway.livenessProbe?.httpGet, { path: "/api/healthz", port: 8080 });
  const bare = containerOf(await render({ ...off, "gateway.enabled": false }));
  assert.deepEqual([bare.startupProbe, bare.livenessProbe, bare.readinessProbe], [
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("the chart takes the image from tag, digest or appVersion", async () => {
  const { stdout } = await helm(["show", "chart", CHART]);
  assert.match(stdout, /^version: 0\.0\.0$/m);
  assert.match(stdout, /^appVersion: 0\.0\.0$/m);
  const digest = `sha256:${"0".repeat(64)}`;
  const cases: [Values, string][] = [
    [{}, "ghcr.io/xbind/backend:0.0.0"],
    [{ "image.tag": "v1.2.3" }, "ghcr.io/xbind/backend:v1.2.3"],
    [{ "image.tag": "v1", "image.digest": digest }, `ghcr.io/xbind/backend@${digest}`],
    [{ "image.repository": "localhost:5000/b" }, "localhost:5000/b:0.0.0"],
  ];
  for (const [values, image] of cases) {
    assert.equal(containerOf(await render(values)).image, image);
  }
});

Deno.test("the chart limits the inventory's rights to rbac.inventoryGroups", async () => {
  const wide = async (groups: readonly string[]) =>
    (rulesOf(await render({ "rbac.inventoryGroups": groups })).get("gateway") ?? [])
      .filter(({ apiGroups, resources, verbs }) =>
        !verbs.includes("get") && !/xbind\.io|leases/.test(`${apiGroups} ${resources}`)
      );
  const verbs = ["list", "watch"];
  assert.deepEqual(await wide(["*"]), [{ apiGroups: ["*"], resources: ["*"], verbs }]);
  assert.deepEqual(await wide(["example.org", ""]), [
    { apiGroups: ["example.org"], resources: ["*"], verbs },
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs },
  ]);
  assert.deepEqual(await wide([]), []);
});

Deno.test("the chart gives a reaper only the rights that its flags need", async () => {
  const verbsOn = async (resource: string, values: Values) => {
    const rules = rulesOf(await render({ "reaper.enabled": true, ...values })).get("reaper") ?? [];
    return rules.filter(({ resources }) => resources?.includes(resource))
      .flatMap(({ verbs }) => verbs).sort();
  };
  const revoke = { "reaper.revoke": true };
  const boundary = { ...revoke, "reaper.deleteBoundary": true };
  assert.deepEqual(await verbsOn("grants", {}), ["list", "patch", "watch"]);
  assert.deepEqual(await verbsOn("grants", revoke), ["delete", "get", "list", "patch", "watch"]);
  assert.deepEqual(await verbsOn("namespaces", revoke), []);
  assert.deepEqual(await verbsOn("namespaces", boundary), ["delete", "get", "list", "patch"]);
});
