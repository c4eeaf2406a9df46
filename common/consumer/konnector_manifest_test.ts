import assert from "node:assert/strict";
import type { ClusterRole, Deployment } from "../api/resources.ts";
import { konnectorManifest } from "./konnector_manifest.ts";

const find = <T>(kind: string): T =>
  konnectorManifest("registry.example.org/konnector:v1").find((each) => each.kind === kind) as T;

Deno.test("konnectorManifest() lists its objects in the order in which they can be applied", () => {
  const objects = konnectorManifest("any");
  assert.deepEqual(
    objects.map(({ kind, metadata: { name, namespace } }) =>
      `${kind} ${namespace ? `${namespace}/` : ""}${name}`
    ),
    [
      "CustomResourceDefinition bindings.core.xbind.io",
      "CustomResourceDefinition clusterbindings.core.xbind.io",
      "CustomResourceDefinition connections.core.xbind.io",
      "Namespace xbind",
      "ServiceAccount xbind/konnector",
      "ClusterRole konnector",
      "ClusterRoleBinding konnector",
      "Role xbind/konnector-leaderelection",
      "RoleBinding xbind/konnector-leaderelection",
      "Deployment xbind/konnector",
    ],
  );
  for (const { kind, metadata } of objects.slice(3)) {
    assert.equal(metadata.labels?.["app.kubernetes.io/name"], "konnector", kind);
  }
});

Deno.test("konnectorManifest() runs the given image with the konnector's arguments", () => {
  const { spec } = find<Deployment>("Deployment");
  const [container] = spec.template.spec?.containers ?? [];
  assert.equal(container?.image, "registry.example.org/konnector:v1");
  assert.deepEqual(container?.args, [
    "--metrics-bind-address=:8085",
    "--health-probe-bind-address=:8081",
  ]);
});

Deno.test("konnectorManifest() leaves what people set: replicas and environment", () => {
  const { spec } = find<Deployment>("Deployment");
  const [container] = spec.template.spec?.containers ?? [];
  assert.deepEqual([spec.replicas, container?.env], [undefined, undefined]);
});

Deno.test("konnectorManifest() names Secrets with the verbs that the konnector uses on them", () => {
  const { rules = [] } = find<ClusterRole>("ClusterRole");
  const secrets = rules.filter(({ resources }) => resources?.includes("secrets"));
  const expected = ["get", "list", "watch", "update", "patch"];
  assert.deepEqual(secrets.map(({ verbs }) => verbs), [expected]);
});

Deno.test("konnectorManifest() returns new objects on every call", () => {
  const [first] = konnectorManifest("any");
  if (first) first.metadata.name = "changed";
  assert.equal(konnectorManifest("any")[0]?.metadata.name, "bindings.core.xbind.io");
});
