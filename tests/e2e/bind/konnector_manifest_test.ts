import assert from "node:assert/strict";
import {
  CLUSTER_ROLES,
  CRDS,
  type Deployment,
  DEPLOYMENTS,
  NAMESPACES,
} from "../../../common/api/resources.ts";
import { konnectorManifest } from "../../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../../common/yaml.ts";
import { FIELD_MANAGERS, KONNECTOR_IMAGE } from "../../../common/api/names.ts";
import { sharedConsumer } from "../../support/planes/control_planes.ts";
import { connect, uniqueName } from "../../support/planes/kube.ts";

const plane = await sharedConsumer();

const apply = async (yaml: string, ...flags: string[]) =>
  await plane.kubectl(["apply", "--server-side", "--force-conflicts", ...flags, "-f", "-"], {
    stdin: yaml,
  });

Deno.test("konnectorManifest() passes strict validation, and a second apply changes nothing", async () => {
  using admin = await connect(plane);
  const yaml = toYaml(konnectorManifest(KONNECTOR_IMAGE));
  const manager = `--field-manager=${FIELD_MANAGERS.installer}`;
  const first = await apply(yaml, "--validate=strict", manager);
  assert.equal(first.code, 0, first.stderr);
  assert.equal(first.stdout.trim().split("\n").length, 10);
  const version = async () => [
    (await admin.kube.get(CLUSTER_ROLES, { name: "konnector" })).metadata.resourceVersion,
    (await admin.kube.get(DEPLOYMENTS, { name: "konnector", namespace: "xbind" })).metadata
      .generation,
    (await admin.kube.get(CRDS, { name: "connections.core.xbind.io" })).metadata.generation,
  ];
  const before = await version();
  const second = await apply(yaml, "--validate=strict", manager);
  assert.equal(second.code, 0, second.stderr);
  assert.equal(second.stderr, "");
  assert.deepEqual(await version(), before);
});

Deno.test("the konnector's pods pass the restricted Pod Security level", async () => {
  using admin = await connect(plane);
  const namespace = uniqueName("restricted");
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await admin.kube.create(NAMESPACES, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels },
  }, FIELD_MANAGERS.installer);
  try {
    const deployment = konnectorManifest(KONNECTOR_IMAGE).at(-1) as Deployment;
    const podOf = (spec: object | undefined) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "konnector", namespace },
        spec: { ...spec, serviceAccountName: undefined, automountServiceAccountToken: false },
      });
    const create = (pod: string) =>
      plane.kubectl(["create", "--dry-run=server", "--validate=strict", "-f", "-"], { stdin: pod });
    const { spec } = deployment.spec.template;
    const accepted = await create(podOf(spec));
    assert.equal(accepted.code, 0, accepted.stderr);
    // Proves that the namespace enforces the level.
    const refused = await create(podOf({ ...spec, securityContext: {} }));
    assert.match(refused.stderr, /violates PodSecurity "restricted/);
  } finally {
    await admin.kube.delete(NAMESPACES, { name: namespace });
  }
});

Deno.test("kubectl reads the output of toYaml() unchanged", async () => {
  const texts = [
    ..."on off yes no y n Y N true null ~ 1e3 0x1F 0b1 0o7 012 1_000 190:20:30 .5 .inf NaN"
      .split(" "),
    "2026-01-02",
    "2026-01-02T03:04:05Z",
    "<<",
    "=",
    "---",
    "...",
    "*a",
    "a: b",
    " a ",
    "a\nb\n\n",
    "\ttab",
    "a\u2028b\u0085c",
    "\u{1F600}",
    "a\x7fb\x9fc\ufeffd\u2029",
    "0o7\u2028",
    "-0O7",
    "+.5",
    "\u0007",
    "",
    "x".repeat(500),
  ];
  const data = Object.fromEntries(texts.map((text, i) => [`k${i}`, text]));
  const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, data };
  const read = await plane.kubectl(["create", "--dry-run=client", "-o", "json", "-f", "-"], {
    stdin: toYaml([config]),
  });
  assert.equal(read.code, 0, read.stderr);
  assert.deepEqual(JSON.parse(read.stdout).data, data);
});
