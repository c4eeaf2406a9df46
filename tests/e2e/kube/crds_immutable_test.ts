import assert from "node:assert/strict";
import {
  CONNECTIONS,
  GRANTS,
  type KubeObject,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { patchedSample } from "../../testdata/crds/patched.ts";
import {
  documents,
  fail,
  reference,
  stored,
  succeed,
  withObject,
} from "../../testdata/crds/provider.ts";
import { SAMPLES } from "../../testdata/crds/samples.ts";

const STATUS = "--subresource=status";

const patch = (object: KubeObject, body: unknown, ...options: string[]): string[] => [
  "patch",
  reference(object),
  `--type=${Array.isArray(body) ? "json" : "merge"}`,
  `--patch=${JSON.stringify(body)}`,
  ...options,
];

Deno.test("the API server refuses to change or remove an immutable field of a spec", async (t) => {
  const secretRef = "spec.kubeconfigSecretRef: Invalid value: kubeconfigSecretRef is immutable";
  const table: [ResourceType, unknown, string][] = [
    [GRANTS, { spec: { identity: { subject: "b" } } }, ": subject is immutable"],
    [GRANTS, { spec: { identity: { subject: null } } }, "spec.identity.subject: Required value"],
    [GRANTS, { spec: { identity: null } }, "spec.identity: Required value"],
    [GRANTS, { spec: { exportName: "b" } }, ": exportName is immutable"],
    [GRANTS, { spec: { exportName: null } }, "spec.exportName: Required value"],
    [GRANTS, { spec: null }, "spec: Required value"],
    [GRANTS, [{ op: "remove", path: "/spec" }], "spec: Required value"],
    [CONNECTIONS, { spec: { kubeconfigSecretRef: { namespace: "b" } } }, secretRef],
    [CONNECTIONS, { spec: { kubeconfigSecretRef: { name: "b" } } }, secretRef],
    [CONNECTIONS, { spec: { kubeconfigSecretRef: { key: "b" } } }, secretRef],
    // A removed key would get its default value.
    [CONNECTIONS, { spec: { kubeconfigSecretRef: { key: null } } }, secretRef],
    [
      CONNECTIONS,
      { spec: { kubeconfigSecretRef: null } },
      "spec.kubeconfigSecretRef: Required value",
    ],
    [CONNECTIONS, { spec: null }, "spec: Required value"],
  ];
  for (const type of [GRANTS, CONNECTIONS]) {
    const object = patchedSample(type, `crds-immutable-${type.plural}`);
    await withObject(object, async () => {
      for (const [, body, says] of table.filter(([of]) => of === type)) {
        await t.step(`${type.kind}: ${JSON.stringify(body)}`, async () => {
          const message = await fail(patch(object, body));
          assert.ok(message.includes(says), message);
        });
      }
      assert.deepEqual((await stored(object)).spec, SAMPLES[type.kind]?.complete.spec);
    });
  }
});

Deno.test("a write to the status subresource does not change the spec", async () => {
  const grant = patchedSample(GRANTS, "crds-status-only");
  await withObject(grant, async () => {
    const body = {
      spec: { exportName: "b", identity: { subject: "b" } },
      status: { namespace: "n" },
    };
    await succeed(patch(grant, body, STATUS));
    const now = await stored(grant);
    assert.deepEqual(now.spec, SAMPLES["Grant"]?.complete.spec);
    assert.equal(now.status.namespace, "n");
    assert.equal(now.metadata.generation, 1);
  });
});

Deno.test("a Grant's displayName, groups and APIs can change", async () => {
  const grant = patchedSample(GRANTS, "crds-mutable");
  await withObject(grant, async () => {
    const spec = { identity: { displayName: "B", groups: [] }, apis: [{ name: "b.example.org" }] };
    await succeed(patch(grant, { spec }));
    const now = await stored(grant);
    assert.equal(now.spec.identity.displayName, "B");
    assert.deepEqual(now.spec.apis, spec.apis);
  });
});

Deno.test("a Connection's localClusterUID can be set only once", async (t) => {
  const connection = patchedSample(CONNECTIONS, "crds-local-uid");
  const says = "status.localClusterUID: Invalid value: localClusterUID is immutable once it is set";
  await withObject(connection, async () => {
    await succeed(patch(connection, { status: { localClusterUID: "" } }, STATUS));
    await succeed(patch(connection, { status: { localClusterUID: "first" } }, STATUS));
    const attempts: unknown[] = [
      { status: { localClusterUID: "second" } },
      { status: { localClusterUID: "" } },
      { status: { localClusterUID: null } },
      { status: null },
      { status: { localClusterUID: null, remoteClusterUID: "r" } },
      [{ op: "remove", path: "/status" }],
      [{ op: "replace", path: "/status", value: {} }],
    ];
    for (const body of attempts) {
      await t.step(JSON.stringify(body), async () => {
        const message = await fail(patch(connection, body, STATUS));
        assert.ok(message.includes(says), message);
      });
    }
    await t.step("a replace without a status", async () => {
      const { apiVersion, kind, metadata } = connection;
      const bare = { apiVersion, kind, metadata, spec: SAMPLES["Connection"]?.complete.spec };
      const message = await fail(["replace", STATUS, "-f", "-"], documents(bare));
      assert.ok(message.includes(says), message);
      await succeed(["replace", "-f", "-"], documents(bare));
    });
    await succeed(patch(connection, { status: { localClusterUID: "second" } }));
    await succeed(patch(connection, { status: { remoteClusterUID: "remote" } }, STATUS));
    const { status } = await stored(connection);
    assert.deepEqual(status, { localClusterUID: "first", remoteClusterUID: "remote" });
  });
});

Deno.test("the API server refuses an apply that omits a Connection's localClusterUID", async () => {
  const connection = patchedSample(CONNECTIONS, "crds-applied-uid");
  const { apiVersion, kind, metadata } = connection;
  const apply = ["apply", "--server-side", STATUS, "-f", "-"];
  await withObject(connection, async () => {
    const status = { localClusterUID: "first" };
    await succeed(apply, documents({ apiVersion, kind, metadata, status }));
    const without = { apiVersion, kind, metadata, status: { remoteClusterUID: "remote" } };
    const message = await fail(apply, documents(without));
    assert.ok(message.includes("localClusterUID is immutable once it is set"), message);
  });
});
