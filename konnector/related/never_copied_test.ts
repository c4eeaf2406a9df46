import assert from "node:assert/strict";
import { allowedBy, isBarredNamespace, isBarredType, mayBeRead } from "./never_copied.ts";

const NOTHING = allowedBy([]);

Deno.test("isBarredNamespace() keeps the namespaces of Kubernetes and of xbind", () => {
  for (const name of ["kube-system", "kube-public", "kube-flannel", "xbind"]) {
    assert.equal(isBarredNamespace(name, NOTHING), true, name);
  }
  for (const name of ["default", "kubernetes", "xbind-0123456789abcdef0123", "my-kube-system"]) {
    assert.equal(isBarredNamespace(name, NOTHING), false, name);
  }
});

Deno.test("isBarredType() keeps tokens and Helm releases", () => {
  for (
    const type of [
      "bootstrap.kubernetes.io/token",
      "kubernetes.io/service-account-token",
      "helm.sh/release.v1",
      "helm.sh/release.v2",
    ]
  ) assert.equal(isBarredType(type, NOTHING), true, type);
  for (const type of ["", "Opaque", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson"]) {
    assert.equal(isBarredType(type, NOTHING), false, type);
  }
});

Deno.test("--related-allow opens exactly what it names", () => {
  const allowed = allowedBy(["namespace:kube-public", "type:helm.sh/release.v1"]);
  assert.equal(isBarredNamespace("kube-public", allowed), false);
  assert.equal(isBarredNamespace("kube-system", allowed), true);
  assert.equal(isBarredType("helm.sh/release.v1", allowed), false);
  assert.equal(isBarredType("helm.sh/release.v2", allowed), true);
});

Deno.test("mayBeRead() leaves to the API server what it can select", () => {
  assert.equal(
    mayBeRead(NOTHING),
    "type!=bootstrap.kubernetes.io/token,type!=kubernetes.io/service-account-token," +
      "type!=helm.sh/release.v1,metadata.namespace!=kube-system,metadata.namespace!=kube-public," +
      "metadata.namespace!=kube-node-lease,metadata.namespace!=xbind",
  );
  const allowed = allowedBy(["namespace:kube-system", "type:bootstrap.kubernetes.io/token"]);
  assert.doesNotMatch(mayBeRead(allowed), /kube-system|bootstrap/);
});
