import assert from "node:assert/strict";
import { groupFault } from "./group_fault.ts";

Deno.test("groupFault() knows the groups of Kubernetes and xbind", () => {
  for (const group of ["k8s.io", "metrics.k8s.io", "kubernetes.io", "a.kubernetes.io"]) {
    assert.match(groupFault(group) ?? "", /Kubernetes/);
  }
  for (const group of ["xbind.io", "core.xbind.io"]) assert.match(groupFault(group) ?? "", /xbind/);
  for (const group of ["example.org", "notk8s.io", "notxbind.io"]) {
    assert.equal(groupFault(group), undefined);
  }
});
