import assert from "node:assert/strict";
import type { Deployment } from "../common/api/resources.ts";
import { konnectorManifest } from "../common/consumer/konnector_manifest.ts";
import { ConfigError } from "../common/flags/config_error.ts";
import { type Config, parseConfig } from "./config.ts";

const run = (args: readonly string[], env: Record<string, string> = {}): Config => {
  const invocation = parseConfig(args, env);
  assert.ok(invocation.kind === "run");
  return invocation.config;
};

Deno.test("parseConfig() of the konnector returns typed, frozen settings", () => {
  const config = run([]);
  const expected: Config = {
    secretNamespaces: ["xbind"],
    clusterName: "",
    relatedAllow: [],
    carryLabels: [],
    carryAnnotations: [],
    leftovers: "report",
    leftoversIntervalMs: 60_000,
    unbindTimeoutMs: 600_000,
    kubeconfig: "",
    metricsBindAddress: ":8085",
    healthProbeBindAddress: ":8081",
    leaderElect: false,
    leaderElectionId: "konnector.xbind.io",
    zapDevel: false,
    zapEncoder: "",
    zapLogLevel: "",
    zapStacktraceLevel: "",
    zapTimeEncoding: "iso8601",
  };
  assert.deepEqual({ ...config }, expected);
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.secretNamespaces));
});

Deno.test("parseConfig() of the konnector reads the environment, and a flag overrides it", () => {
  const env = { XBIND_SECRET_NAMESPACES: "xbind, tenants", XBIND_LEADER_ELECT: "true" };
  assert.deepEqual(run([], env).secretNamespaces, ["xbind", "tenants"]);
  assert.equal(run([], env).leaderElect, true);
  assert.deepEqual(run(["--secret-namespaces=a"], env).secretNamespaces, ["a"]);
  assert.equal(run(["--cluster-name=Prod EU-1"]).clusterName, "Prod EU-1");
});

Deno.test("parseConfig() of the konnector reads what copies get too", () => {
  const { carryLabels, carryAnnotations } = run([
    "--carry-labels=team, app.kubernetes.io/*,example.org/x",
    "--carry-annotations=note",
  ]);
  assert.deepEqual(carryLabels, ["team", "app.kubernetes.io/*", "example.org/x"]);
  assert.deepEqual(carryAnnotations, ["note"]);
});

Deno.test("parseConfig() of the konnector refuses", async (t) => {
  const cases: readonly [string, RegExp][] = [
    ["--secret-namespaces=xbind,A", /^--secret-namespaces: "A" is not the name of a namespace/],
    ["--secret-namespaces=", /^--secret-namespaces names no namespace/],
    ["--secret-namespaces= , ", /^--secret-namespaces names no namespace/],
    ["--cluster-name=<b>", /^--cluster-name: "<b>" is not a name/],
    [`--cluster-name=${"a".repeat(64)}`, /^--cluster-name: ".*" is not a name/],
    ["--cluster-name=prod ", /^--cluster-name: ".*" is not a name/],
    ["--related-allow=kube-public", /^--related-allow: "kube-public" is neither namespace:/],
    ["--related-allow=namespace:kubepublic", /^--related-allow: .* needs no permission/],
    ["--related-allow=type:Opaque", /^--related-allow: "type:Opaque" needs no permission/],
    ["--related-allow=namespace:kube_x", /^--related-allow: .* names nothing that/],
    ["--carry-labels=*", /^--carry-labels: "\*" is not the key of a label or annotation/],
    [
      "--carry-labels=team,core.xbind.io/*",
      /^--carry-labels: "core.xbind.io\/\*" is never carried/,
    ],
    ["--carry-labels=xbind.io/x", /^--carry-labels: "xbind.io\/x" is never carried/],
    [
      "--carry-annotations=kubectl.kubernetes.io/last-applied-configuration",
      /^--carry-annotations: ".*" is never carried/,
    ],
    ["--metrics-bind-address=8085", /^--metrics-bind-address: "8085" is not an address/],
    ["--enable-gateway", /^--enable-gateway is not a flag/],
  ];
  for (const [arg, expected] of cases) {
    await t.step(arg, () => {
      assert.throws(() => run([arg]), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.problems.length, 1, error.message);
        assert.match(error.problems[0] ?? "", expected);
        return true;
      });
    });
  }
});

Deno.test("the environment sets flags of an installed konnector", () => {
  const { spec } = konnectorManifest("any").find(({ kind }) => kind === "Deployment") as Deployment;
  const { args = [] } = spec.template.spec?.containers[0] ?? {};
  const env = { XBIND_LEADER_ELECT: "true", XBIND_CLUSTER_NAME: "prod-eu" };
  const { leaderElect, clusterName } = run(args, env);
  assert.deepEqual([leaderElect, clusterName], [true, "prod-eu"]);
});
