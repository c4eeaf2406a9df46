import assert from "node:assert/strict";
import type { ClusterRole, Role } from "../../common/api/resources.ts";
import { isBoundOnly, konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../common/yaml.ts";
import { konnectorObjects, rightsFor, rightsLine } from "./bound_rights.ts";
import { checkManifest } from "./check_manifest.ts";

const NEEDS = {
  apis: ["dbs.pg.example.org", "users.pg.example.org", "queues.example.com"],
  related: ["secrets", "secrets"] as const,
};

Deno.test("rightsFor() names each group once, and none that a konnector never pulls", () => {
  const apis = [
    "deployments.apps",
    "crds.apiextensions.k8s.io",
    "x.kubernetes.io",
    "grants.iam.xbind.io",
    "*.*",
    "../x",
    "",
  ];
  assert.deepEqual(
    rightsFor({ apis: [...NEEDS.apis, ...apis], related: ["secrets", "*", "pods"] }),
    {
      groups: ["example.com", "pg.example.org"],
      related: ["secrets"],
    },
  );
});

Deno.test("konnectorObjects() narrows the roles and nothing else", () => {
  const objects = konnectorManifest("image");
  assert.deepEqual(konnectorObjects({ objects }, undefined), objects);
  const narrow = konnectorObjects({ objects }, NEEDS);
  assert.deepEqual(narrow, konnectorManifest("image", rightsFor(NEEDS)));
  const isRole = ({ kind }: { kind: string }) => kind === "ClusterRole" || kind === "Role";
  assert.deepEqual(narrow.filter((each) => !isRole(each)), objects.filter((each) => !isRole(each)));
  const [clusterRole, role] = narrow.filter(isRole) as [ClusterRole, Role];
  assert.ok(isBoundOnly(clusterRole));
  assert.ok(!isBoundOnly(objects.find(({ kind }) => kind === "ClusterRole") as ClusterRole));
  assert.deepEqual(clusterRole.rules?.slice(-2), [
    {
      apiGroups: ["example.com", "pg.example.org"],
      resources: ["*"],
      verbs: ["get", "list", "watch", "patch"],
    },
    {
      apiGroups: [""],
      resources: ["secrets"],
      verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
  ]);
  assert.ok(role.rules?.some(({ resources }) => resources?.includes("secrets")));
});

Deno.test("checkManifest() accepts a manifest for bound APIs only", () => {
  const narrow = konnectorManifest("image", rightsFor(NEEDS));
  assert.deepEqual(checkManifest(toYaml(narrow)), narrow);
});

Deno.test("rightsLine() tells the groups", () => {
  assert.match(
    rightsLine(NEEDS),
    /bound APIs only \(group example\.com, pg\.example\.org; secrets\)$/,
  );
  assert.match(rightsLine({ apis: [], related: [] }), /nothing is bound yet/);
});
