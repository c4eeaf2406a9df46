import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  type Connection,
  CONNECTIONS,
  GRANTS,
  NAMESPACES,
  type Secret,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { CliWorld, KONNECTOR, SERVED_IMAGE } from "../../support/worlds/cli_world.ts";
import { objectsIn } from "../../support/worlds/test_konnector.ts";

const applied = (names: readonly string[]) => names.map((name) => `${name} applied`);

const managersOf = (object: unknown): string[] =>
  (object as { metadata: { managedFields: { manager: string }[] } }).metadata.managedFields
    .map(({ manager }) => manager);

/** Makes the cluster refuse every ClusterBinding until disposed. */
async function denyClusterBindings(kube: KubeClient): Promise<AsyncDisposable> {
  const group = "admissionregistration.k8s.io";
  const apiVersion = `${group}/v1`;
  const name = "no-clusterbindings";
  const typeOf = (kind: string, plural: string) =>
    ({ group, version: "v1", plural, kind, namespaced: false }) as const;
  const policies = typeOf("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
  const bindings = typeOf("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
  const rule = {
    apiGroups: ["core.xbind.io"],
    apiVersions: ["*"],
    resources: ["clusterbindings"],
    operations: ["CREATE", "UPDATE"],
  };
  const policy = {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: "false", message: "not here" }],
  };
  const binding = { policyName: name, validationActions: ["Deny"] };
  for (const [type, spec] of [[policies, policy], [bindings, binding]] as const) {
    const object = { apiVersion, kind: type.kind, metadata: { name }, spec };
    await kube.create(type, object, "xbind-installer");
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const each of [bindings, policies]) await kube.delete(each, { name });
    },
  };
}

Deno.test("kubectl bind export", async (t) => {
  await using world = await CliWorld.start();
  const { exportName, grant } = world;
  const grants = async () => (await world.provider.kube.list(GRANTS)).length;

  await t.step("does not bind if a flag, the kubeconfig or the session is wrong", async () => {
    const at = { env: { KUBECONFIG: `${world.user.home}/absent` } };
    await world.fails(["export", exportName], 1, /no file of KUBECONFIG exists/, at);
    await world.fails(["export", exportName, "--context", "x"], 2, /known: "admin@own"/);
    await world.fails(["export", exportName, "--output=xml"], 2, /Allowed choices are yaml/);
    await world.fails(["export", exportName, "-oyaml", "--wait"], 2, /--output together with/);
    const image = ["--install-konnector=false", "--konnector-image=x"];
    await world.fails(["export", exportName, ...image], 2, /--konnector-image together with/);
    await world.fails(["export", exportName, "--timeout=soon"], 2, /not a duration/);
    await world.fails(["export"], 2, /missing required argument/);
    const without = ["export", exportName, "--install-konnector=false"];
    await world.fails(without, 1, /does not serve connections\.core\.xbind\.io/);
    const kubeconfig = await world.consumerPlane.kubeconfigFor("nobody-in-particular");
    const powerless = ["export", exportName, "--kubeconfig", kubeconfig];
    await world.fails(powerless, 1, /may not create customresourcedefinitions\.apiextensions/);
    await world.fails(["export", exportName], 3, /kubectl bind login/, {
      env: { HOME: `${world.user.home}/absent` },
    });
    assert.equal(await grants(), 0);
  });

  await t.step("changes nothing anywhere with --dry-run", async () => {
    const writes = await world.writesDuring(async () => {
      const lines = await world.lines(["export", exportName, "--dry-run"]);
      const created = [...KONNECTOR, ...world.bundle].map((name) => `${name} would be created`);
      assert.deepEqual(lines, created);
      await world.fails(["export", "widgetz", "--dry-run"], 4, /Did you mean "widgets"/);
    });
    assert.deepEqual(writes, []);
    assert.equal(await grants(), 0);
    assert.equal(await world.kube.find(NAMESPACES, { name: "xbind" }), undefined);
  });

  await t.step("prints only the bundle with -o yaml, and does not call the consumer", async () => {
    const requests = await world.requestsDuring(async () => {
      const absent = { env: { KUBECONFIG: `${world.user.home}/absent` } };
      for (const spelling of [["-oyaml"], ["-o=yaml"], ["-o", "yaml"], ["--output=yaml"]]) {
        const args = ["export", exportName, ...spelling];
        const { code, stdout, stderr } = await world.bind(args);
        assert.equal(code, 0, stderr);
        const names = objectsIn(stdout).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
        assert.deepEqual(names, world.bundle);
        assert.match(stderr, /holds credentials/);
      }
      assert.equal((await world.bind(["export", exportName, "-oyaml"], absent)).code, 0);
    });
    assert.equal(requests, 0);
    assert.equal(await grants(), 1);
  });

  await t.step(
    "installs the konnector and applies the bundle as a plugin of kubectl",
    async () => {
      const { code, stdout, stderr } = await world.kubectl(["bind", "export", exportName]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.split("\n"), [...applied([...KONNECTOR, ...world.bundle]), ""]);
      const { server } = world.consumerPlane;
      assert.ok(stderr.indexOf(`context "admin@own" (${server})`) < stderr.indexOf("Binding"));
      assert.match(stderr, new RegExp(`Konnector image: ${SERVED_IMAGE}`));
      assert.deepEqual(await world.boundKinds(), ["Secret", "Connection", "ClusterBinding"]);
      assert.deepEqual(managersOf(await world.bound(CONNECTIONS)), ["xbind-cli"]);
      assert.deepEqual(managersOf(await world.kube.get(NAMESPACES, { name: "xbind" })), [
        "xbind-installer",
      ]);
    },
  );

  await t.step("stores the credentials that the provider issued", async () => {
    const secret = await world.bound(SECRETS) as Secret;
    const kubeconfig = atob(secret.data?.["kubeconfig"] ?? "");
    const [printed] = objectsIn((await world.bind(["export", exportName, "-oyaml"])).stdout);
    assert.equal(kubeconfig, (printed as Secret).stringData?.["kubeconfig"]);
    const pickup = await world.gateway.bind(world.token, exportName);
    const [sent] = objectsIn(await (await world.gateway.request(pickup.pickupURL)).text());
    assert.equal(kubeconfig, (sent as Secret).stringData?.["kubeconfig"]);
  });

  await t.step("changes nothing the second time", async () => {
    const versions = async () =>
      (await Promise.all([SECRETS, CONNECTIONS, CLUSTER_BINDINGS].map((type) => world.bound(type))))
        .map((object) => object?.metadata.resourceVersion);
    const before = await versions();
    const all = [...KONNECTOR, ...world.bundle];
    assert.deepEqual(await world.lines(["export", exportName]), applied(all));
    assert.deepEqual(await versions(), before);
    assert.equal(await grants(), 1);
    const again = await world.lines(["export", exportName, "--dry-run"]);
    assert.deepEqual(again, all.map((name) => `${name} would be updated`));
  });

  await t.step("creates only the namespace with --install-konnector=false", async () => {
    for (const off of ["--install-konnector=false", "--no-install-konnector"]) {
      const lines = await world.lines(["export", `export/${exportName}`, off]);
      assert.deepEqual(lines, applied(["Namespace/xbind", ...world.bundle]));
    }
  });

  await t.step("replaces another provider's credentials only with --replace-provider", async () => {
    const secret = await world.bound(SECRETS) as Secret;
    const other = atob(secret.data?.["kubeconfig"] ?? "")
      .replace(world.providerPlane.server, "https://other.example.org");
    const edited = { ...secret, data: { kubeconfig: btoa(other) } };
    await world.kube.update(SECRETS, edited, "xbind-installer");
    const words = /connected under that name to the provider at https:\/\/other\.example\.org/;
    await world.fails(["export", exportName], 1, words);
    assert.deepEqual((await world.bound(SECRETS) as Secret).data, edited.data);
    await world.lines(["export", exportName, "--replace-provider"]);
    assert.deepEqual((await world.bound(SECRETS) as Secret).data, secret.data);
  });

  await t.step("refuses an Export that is unknown, misspelled or not Ready", async () => {
    await world.fails(["export", "widgetz"], 4, /Did you mean "widgets"/);
    await world.fails(["export", "Not_A_Name"], 4, /there is no such Export/);
    await world.provider.offer("unready", ["absent.example.org"]);
    await world.fails(["export", "unready"], 1, /not Ready/);
  });

  await t.step("asks for a login when the session is not valid", async () => {
    const env = { XBIND_TOKEN: "nonsense" };
    await world.fails(["export", exportName], 3, /XBIND_TOKEN/, { env });
  });

  /** Asserts that nothing is written and nothing bound. A bind would change the Grant. */
  const assertNoBind = async (run: () => Promise<unknown>) => {
    const version = async () =>
      (await world.provider.kube.get(GRANTS, { name: grant })).metadata.resourceVersion;
    const before = await version();
    assert.deepEqual(await world.writesDuring(run), []);
    assert.equal(await version(), before);
  };

  await t.step("does not bind if the name is mistyped", async () => {
    await assertNoBind(async () => {
      for (const more of [[], ["-oyaml"]]) {
        await world.fails(["export", "widgetz", ...more], 4, /Did you mean "widgets"/);
      }
    });
  });

  await t.step("does not bind if an immutable field differs", async () => {
    const { spec, ...rest } = await world.bound(CONNECTIONS) as Connection;
    const ref = { ...spec.kubeconfigSecretRef, name: "another" };
    const meta = { name: grant };
    await world.kube.delete(CONNECTIONS, meta);
    const other = { ...rest, metadata: meta, spec: { kubeconfigSecretRef: ref } };
    await world.kube.create(CONNECTIONS, other, "xbind-installer");
    await assertNoBind(() => world.fails(["export", exportName], 1, /Connection.*immutable/));
    await world.kube.delete(CONNECTIONS, meta);
    await world.lines(["export", exportName]);
  });

  await t.step("does not bind if admission refuses the bundle", async () => {
    await using _policy = await denyClusterBindings(world.kube);
    await eventually("the policy is in force", async () => {
      return (await world.bind(["export", exportName, "--dry-run"])).code === 1;
    });
    await assertNoBind(() => world.fails(["export", exportName], 1, /clusterbindings.*not here/));
  });

  await t.step(
    "accepts an immutable Secret with the same credentials",
    async () => {
      const secret = await world.bound(SECRETS) as Secret;
      await world.kube.update(SECRETS, { ...secret, immutable: true } as Secret, "xbind-installer");
      await eventually("no policy is in force", async () => {
        return (await world.bind(["export", exportName, "--dry-run"])).code === 0;
      });
      await world.lines(["export", exportName]);
    },
  );

  await t.step("does not bind if the namespace is being deleted", async () => {
    await world.kube.delete(NAMESPACES, { name: "xbind" });
    const words = /Namespace\/xbind on .*: it is being deleted/;
    await assertNoBind(() => world.fails(["export", exportName], 1, words));
  });
  assert.equal(grant, (await world.bound(CONNECTIONS))?.metadata.name);
});
