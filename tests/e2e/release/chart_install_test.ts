import assert from "node:assert/strict";
import { type KubeObject, NAMESPACES } from "../../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { CHART, deploymentOf, helm, render, type Values } from "../../support/worlds/chart.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { connect, uniqueName, type Workspace, workspace } from "../../support/planes/kube.ts";
import { OTHER_VALUES } from "../../testdata/chart_values.ts";

const plane = await sharedProvider();

/** Kinds of the Prometheus operator, which is not installed here. */
const OF_PROMETHEUS = ["ServiceMonitor", "PrometheusRule"];

/** Sets every value that does not exclude another one. */
const EVERYTHING: Values = {
  ...Object.fromEntries(
    Object.entries(OTHER_VALUES).flatMap(([path, { other, given }]) =>
      /existingSecret$|Secret\.key$/.test(path) || typeof other !== "boolean"
        ? [...Object.entries(given ?? {}), [path, other]]
        : []
    ),
  ),
  "gateway.externalCa": { existingConfigMap: "cas" },
  "oidc.ca": { existingSecret: "cas" },
  "reaper.enabled": true,
  "apply.enabled": true,
  kubernetesAuth: true,
  "metrics.bindAddress": ":8086",
  "metrics.service.enabled": true,
  "metrics.dashboard.namespace": "default", // a namespace that is there
};
const RELEASES: Record<string, Values> = {
  "with default values": {},
  "a gateway": { "issuer.enabled": false, installCrds: false },
  "an issuer": { "gateway.enabled": false },
  "a reaper": {
    ...{ "gateway.enabled": false, "issuer.enabled": false },
    ...{ "reaper.enabled": true, "reaper.revoke": true, "reaper.deleteBoundary": true },
  },
  "several replicas": { replicaCount: 3, "cookieKeys.existingSecret": "keys" },
  "everything at once": EVERYTHING,
};

const kubectl = async (args: string[], objects: readonly KubeObject[]) => {
  const stdin = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  return await plane.kubectl(args, { stdin });
};

/** Creates a namespace that enforces the restricted pod security standard. */
async function restrictedWorkspace(): Promise<Workspace> {
  const place = await workspace(plane, "chart");
  const { metadata } = await place.kube.get(NAMESPACES, { name: place.namespace });
  const { resourceVersion = "" } = metadata;
  const labels = Object.fromEntries(
    ["enforce", "warn", "audit"].map((
      mode,
    ) => [`pod-security.kubernetes.io/${mode}`, "restricted"]),
  );
  const patch = { metadata: { resourceVersion, labels } };
  await place.kube.mergePatch(
    NAMESPACES,
    { name: place.namespace },
    patch,
    FIELD_MANAGERS.installer,
  );
  return place;
}

Deno.test("the API server accepts the rendered chart without a warning", async (t) => {
  await using place = await restrictedWorkspace();
  for (const [name, values] of Object.entries(RELEASES)) {
    await t.step(name, async () => {
      const rendered = await render(values, { name: uniqueName("r"), namespace: place.namespace });
      const objects = rendered.filter(({ kind }) => !OF_PROMETHEUS.includes(kind));
      const flags = ["--server-side", "--validate=strict", "--dry-run=server", "-f", "-"];
      const { code, stdout, stderr } = await kubectl(["apply", ...flags], objects);
      assert.equal(code, 0, stderr);
      assert.equal(stderr, "");
      assert.equal(stdout.trim().split("\n").length, objects.length);
    });
  }
});

Deno.test("the chart's pods pass the restricted pod security standard", async (t) => {
  await using place = await restrictedWorkspace();
  const podOf = async (values: Values): Promise<KubeObject> => {
    const objects = await render(values, { namespace: place.namespace });
    const { metadata, spec } = deploymentOf(objects).spec.template;
    const { namespace } = place;
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, name: uniqueName("pod"), namespace },
      spec: { ...spec, serviceAccountName: "default", priorityClassName: undefined },
    } as KubeObject;
  };
  const create = async (values: Values) =>
    await kubectl(["create", "--dry-run=server", "-f", "-"], [await podOf(values)]);
  for (const [name, values] of Object.entries(RELEASES)) {
    await t.step(name, async () => {
      const { code, stderr } = await create(values);
      assert.equal(code, 0, stderr);
    });
  }
  await t.step("except with runAsNonRoot=false", async () => {
    const { code, stderr } = await create({ "podSecurityContext.runAsNonRoot": false });
    assert.equal(code, 1);
    assert.match(stderr, /violates PodSecurity "restricted/);
  });
});

Deno.test("helm installs, upgrades and uninstalls a release on a real API server", async (t) => {
  await using place = await restrictedWorkspace();
  using admin = await connect(plane);
  const name = uniqueName("rel");
  const run = async (command: string, args: string[] = [], values?: Values) => {
    const target = [command, name, ...args, `--namespace=${place.namespace}`];
    const { code, stdout, stderr } = await helm(target, values, plane.adminKubeconfig);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const left = async () => {
    const kinds = "deployments,services,serviceaccounts,roles,rolebindings,clusterroles," +
      "clusterrolebindings,poddisruptionbudgets";
    const label = `app.kubernetes.io/instance=${name}`;
    const { stdout } = await plane.kubectl(["get", kinds, "-A", "-l", label, "-o", "name"]);
    return stdout.trim().split("\n").filter(Boolean).map((line) => line.replace(name, "X")).sort();
  };

  await t.step("install", async () => {
    assert.match(await run("install", [CHART]), /NO LOGIN IS CONFIGURED/);
    const { stdout } = await plane.kubectl([
      ...["get", "deployment", `${name}-xbind-backend`, "-n", place.namespace],
      ...["-o", "jsonpath={.spec.template.spec.enableServiceLinks}"],
    ]);
    assert.equal(stdout, "false");
  });
  await t.step("upgrade to two replicas and fewer modules", async () => {
    await run("upgrade", [CHART], {
      replicaCount: 2,
      "gateway.enabled": false,
      installCrds: false,
    });
    assert.deepEqual(await left(), [
      "clusterrole.rbac.authorization.k8s.io/X-xbind-backend-issuer",
      "clusterrolebinding.rbac.authorization.k8s.io/X-xbind-backend-issuer",
      "deployment.apps/X-xbind-backend",
      "poddisruptionbudget.policy/X-xbind-backend",
      "role.rbac.authorization.k8s.io/X-xbind-backend-leader",
      "rolebinding.rbac.authorization.k8s.io/X-xbind-backend-leader",
      "serviceaccount/X-xbind-backend",
    ]);
  });
  await t.step("uninstall", async () => {
    await run("uninstall");
    assert.deepEqual(await left(), []);
    await admin.kube.get(NAMESPACES, { name: place.namespace });
  });
});
