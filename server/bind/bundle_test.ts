import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { parse } from "yaml";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant, Secret } from "../../common/api/resources.ts";
import { grantBundle } from "./bundle.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

const GRANT: Grant = {
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "pg-1", uid: "u", resourceVersion: "7", annotations: { a: "b" } },
  spec: {
    identity: { subject: "idp#ada" },
    exportName: "pg",
    apis: [{ name: "databases.example.org" }],
    conflictPolicy: "Adopt",
    relatedResources: [{ group: "", resource: "secrets", direction: "FromProvider" }],
  },
  status: { namespace: "xbind-abc", serviceAccount: "pg-1", tokenSecret: "pg-1-token" },
};
const TOKEN: Secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "pg-1-token", namespace: "xbind-abc" },
  data: { token: base64("the.token"), "ca.crt": base64("PEM OF THE CLUSTER"), namespace: "eA==" },
};
const HERE = { externalAddress: "", restHost: "https://10.0.0.1:6443" };

const kubeconfigIn = (bundle: ReturnType<typeof grantBundle>) =>
  parse((bundle[0] as Secret).stringData?.["kubeconfig"] ?? "");

Deno.test("grantBundle() returns Secret, Connection and ClusterBinding, named after the Grant", () => {
  const [secret, connection, binding, ...others] = grantBundle(GRANT, TOKEN, HERE);
  assert.deepEqual(others, []);
  assert.deepEqual({ ...secret, stringData: undefined }, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pg-1", namespace: "xbind" },
    type: "Opaque",
    stringData: undefined,
  });
  assert.deepEqual(connection, {
    apiVersion: "core.xbind.io/v1alpha1",
    kind: "Connection",
    metadata: { name: "pg-1" },
    spec: { kubeconfigSecretRef: { namespace: "xbind", name: "pg-1", key: "kubeconfig" } },
  });
  assert.deepEqual(binding, {
    apiVersion: "core.xbind.io/v1alpha1",
    kind: "ClusterBinding",
    metadata: { name: "pg-1" },
    spec: {
      connectionRef: { name: "pg-1" },
      apis: [{ name: "databases.example.org" }],
      conflictPolicy: "Adopt",
      relatedResources: [{ group: "", resource: "secrets", direction: "FromProvider" }],
    },
  });
});

Deno.test("grantBundle() contains a kubeconfig with one cluster, user and context", () => {
  assert.deepEqual(kubeconfigIn(grantBundle(GRANT, TOKEN, HERE)), {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "provider",
      cluster: {
        server: "https://10.0.0.1:6443",
        "certificate-authority-data": base64("PEM OF THE CLUSTER"),
      },
    }],
    users: [{ name: "xbind", user: { token: "the.token" } }],
    contexts: [{
      name: "provider",
      context: { cluster: "provider", user: "xbind", namespace: "xbind-abc" },
    }],
    "current-context": "provider",
  });
});

Deno.test("grantBundle() prefers the external address and CA", () => {
  const external = { externalAddress: "https://api.example.org", externalCaPem: "PEM OF OURS" };
  const { cluster } = kubeconfigIn(grantBundle(GRANT, TOKEN, { ...HERE, ...external })).clusters[0];
  assert.deepEqual(cluster, {
    server: "https://api.example.org",
    "certificate-authority-data": base64("PEM OF OURS"),
  });
});

Deno.test("grantBundle() has no null, no empty field and no part of the Grant's status", () => {
  const { conflictPolicy: _, relatedResources: __, ...spec } = GRANT.spec;
  const bundle = grantBundle({ ...GRANT, spec: { ...spec, relatedResources: [] } }, TOKEN, HERE);
  const unwanted = /null|\{\}|\[\]|status|resourceVersion|annotations|"uid"/;
  assert.doesNotMatch(JSON.stringify(bundle), unwanted);
  const [, , binding] = bundle as unknown as { spec: object }[];
  assert.deepEqual(Object.keys(binding?.spec ?? {}), ["connectionRef", "apis"]);
});
