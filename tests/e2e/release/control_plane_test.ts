import assert from "node:assert/strict";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { probe } from "../../../scripts/controlplane/probe.ts";
import { ownPlane, sharedConsumer, sharedProvider } from "../../support/planes/control_planes.ts";

const unique = (prefix: string) => `${prefix}-${crypto.randomUUID().slice(0, 8)}`;

const succeed = async (plane: ControlPlane, args: string[], kubeconfig?: string) => {
  const result = await plane.kubectl(args, kubeconfig ? { kubeconfig } : {});
  assert.equal(result.code, 0, `kubectl ${args.join(" ")}: ${result.stderr}`);
  return result.stdout;
};

const apply = async (plane: ControlPlane, object: object) => {
  const { code, stderr } = await plane.kubectl(["apply", "-f", "-"], {
    stdin: JSON.stringify(object),
  });
  assert.equal(code, 0, stderr);
};

const whoAmI = async (plane: ControlPlane, kubeconfig: string) => {
  const args = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
  return await succeed(plane, args, kubeconfig);
};

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

/** Creates a namespace for one test. */
const namespace = async (plane: ControlPlane, prefix: string): Promise<string> => {
  const name = unique(prefix);
  await succeed(plane, ["create", "namespace", name]);
  return name;
};

Deno.test("kubectl version prints v1.36.3 for client and server", async () => {
  const plane = await sharedProvider();
  const { clientVersion, serverVersion } = JSON.parse(
    await succeed(plane, ["version", "-o", "json"]),
  );
  assert.equal(clientVersion.gitVersion, "v1.36.3");
  assert.equal(serverVersion.gitVersion, "v1.36.3");
  assert.equal(`${serverVersion.major}.${serverVersion.minor}`, "1.36");
});

Deno.test("RBAC allows the admin everything, and a user only granted verbs", async () => {
  const plane = await sharedProvider();
  const name = await namespace(plane, "rbac");
  const nobody = await plane.kubeconfigFor("ada");
  const member = await plane.kubeconfigFor("ada", ["dev"]);
  assert.equal(await whoAmI(plane, nobody), "ada");

  const args = ["create", "configmap", "mine", "-n", name];
  const { code, stderr } = await plane.kubectl(args, { kubeconfig: nobody });
  assert.equal(code, 1);
  assert.match(stderr, /forbidden: User "ada" cannot create resource "configmaps"/);

  await succeed(plane, [
    "create",
    "role",
    "r",
    "--verb=create",
    "--resource=configmaps",
    "-n",
    name,
  ]);
  await succeed(plane, ["create", "rolebinding", "b", "--role=r", "--group=dev", "-n", name]);
  await eventually("the group may write", async () => {
    return (await plane.kubectl(args, { kubeconfig: member })).code === 0;
  });
  assert.equal((await plane.kubectl(args, { kubeconfig: nobody })).code, 1);
});

Deno.test("the API server refuses user certificates that are foreign or expired", async () => {
  const [plane, other] = await Promise.all([sharedProvider(), sharedConsumer()]);
  const status = (client: { cert: string; key: string }) => probe({ ...target, client }, "/api");
  const target = { server: plane.server, caPem: plane.caPem };
  const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
  assert.equal(await status(await plane.userCertificate("ada", ["system:masters"])), 200);
  assert.equal(await status(await plane.userCertificate("ada", ["system:masters"], past)), 401);
  assert.equal(await status(await other.userCertificate("ada", ["system:masters"])), 401);
});

Deno.test("a ServiceAccount's token Secret gets a token that works", async () => {
  const plane = await sharedProvider();
  const name = await namespace(plane, "tokens");
  await succeed(plane, ["create", "serviceaccount", "robot", "-n", name]);
  await apply(plane, {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    metadata: {
      name: "robot-token",
      namespace: name,
      annotations: { "kubernetes.io/service-account.name": "robot" },
    },
  });
  const data = await eventually("the Secret has a token", async () => {
    const secret = JSON.parse(
      await succeed(plane, ["get", "secret", "robot-token", "-n", name, "-o", "json"]),
    );
    return secret.data?.token && secret.data;
  });
  assert.equal(atob(data["ca.crt"]), plane.caPem);
  assert.equal(atob(data.namespace), name);

  const kubeconfig = await plane.kubeconfigForServiceAccount(name, "robot");
  assert.equal(await whoAmI(plane, kubeconfig), `system:serviceaccount:${name}:robot`);
  await assert.rejects(
    plane.kubeconfigForServiceAccount(name, "nobody"),
    /Cannot get a token for ".*\/nobody": .*not found/,
  );
});

Deno.test("namespaces are deleted with their objects, and dependents with their owner", async () => {
  const plane = await sharedProvider();
  const name = await namespace(plane, "cleanup");
  await succeed(plane, ["create", "configmap", "owner", "-n", name]);
  const uid = await succeed(plane, [
    ...["get", "configmap", "owner", "-n", name],
    ...["-o", "jsonpath={.metadata.uid}"],
  ]);
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid };
  await apply(plane, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "dependent", namespace: name, ownerReferences: [owner] },
  });
  await succeed(plane, ["delete", "configmap", "owner", "-n", name]);
  await succeed(plane, ["wait", "--for=delete", "--timeout=30s", "cm/dependent", "-n", name]);
  await succeed(plane, ["delete", "namespace", name, "--timeout=30s"]);
});

Deno.test("auditEvents() lists a request of a user once", async () => {
  const plane = await sharedProvider();
  const user = unique("ada");
  const kubeconfig = await plane.kubeconfigFor(user);
  await plane.kubectl(["get", "lease", "some", "-n", "default"], { kubeconfig });
  const byUser = () =>
    auditEvents(
      plane,
      (event) => event.user.username === user && event.objectRef?.resource === "leases",
    );
  const events = await eventually("the request is in the log", async () => {
    const found = await byUser();
    return found.length > 0 && found;
  });
  assert.deepEqual(events.map(({ verb, stage }) => [verb, stage]), [["get", "ResponseComplete"]]);
  assert.equal(events[0]?.responseStatus?.code, 403);
  assert.deepEqual(events[0]?.objectRef?.name, "some");
});

Deno.test("two parallel control planes are two clusters", async () => {
  const planes = await Promise.all([sharedProvider(), sharedConsumer()]);
  const uids = await Promise.all(
    planes.map((plane) =>
      succeed(plane, ["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"])
    ),
  );
  assert.notEqual(uids[0], uids[1]);
  assert.deepEqual(planes.map(({ name }) => name), ["provider", "consumer"]);
});

Deno.test("a control plane keeps its data when its processes are stopped, killed or paused", async (t) => {
  await using plane = await ownPlane();
  const { server } = plane;
  const client = await plane.userCertificate("probe", ["system:masters"]);
  const status = () => probe({ server, caPem: plane.caPem, client }, "/readyz");
  await succeed(plane, ["create", "configmap", "kept"]);

  for (const process of [plane.etcd, plane.apiServer]) {
    for (const how of ["stop", "kill"] as const) {
      await t.step(`${process.name}: ${how} and start`, async () => {
        const { pid } = process;
        await process[how]();
        assert.equal(process.running, false);
        await eventually("the API is not ready", async () => await status() !== 200);

        await process.start();
        await plane.ready();
        assert.notEqual(process.pid, pid);
        assert.equal(plane.server, server);
        await succeed(plane, ["get", "configmap", "kept"]);
      });
    }
    await t.step(`${process.name}: pause and resume`, async () => {
      const { pid } = process;
      await process.pause();
      assert.equal(process.running, true);
      const args = ["create", "configmap", unique("paused"), "--request-timeout=1s"];
      assert.notEqual((await plane.kubectl(args)).code, 0);

      process.resume();
      await plane.ready();
      assert.equal(process.pid, pid);
      await succeed(plane, ["get", "configmap", "kept"]);
    });
  }

  for (const how of ["stop", "kill", "pause"] as const) {
    await t.step(`kube-controller-manager: ${how} and continue`, async () => {
      const manager = plane.controllerManager;
      await manager[how]();
      const name = await namespace(plane, how);
      const account = ["get", "serviceaccount", "default", "-n", name];
      assert.match((await plane.kubectl(account)).stderr, /not found/);

      if (how === "pause") manager.resume();
      else await manager.start();
      await eventually(
        "the account exists",
        async () => (await plane.kubectl(account)).code === 0,
      );
    });
  }
});

Deno.test("ControlPlane.attach() uses a plane but does not control it", async () => {
  const original = await sharedProvider();
  await using attached = await ControlPlane.attach(original.dir);
  assert.equal(attached.server, original.server);
  assert.equal(attached.auditLog, original.auditLog);
  assert.equal(await whoAmI(attached, await attached.kubeconfigFor("grace")), "grace");
  assert.throws(() => attached.etcd, /another process started it/);
  await attached[Symbol.asyncDispose]();
  await succeed(original, ["get", "namespace", "default"]);

  await assert.rejects(ControlPlane.attach("/nowhere"), /Cannot attach to "\/nowhere"/);
});

Deno.test("ControlPlane.start() shows why a process failed, and removes its files", async () => {
  const parent = await Deno.makeTempDir({ prefix: "xbind-failing-" });
  const starting = ownPlane({ dir: `${parent}/plane`, apiServerArgs: ["--no-such-flag"] });
  await assert.rejects(starting, (error: Error) => {
    assert.match(error.message, /^Cannot start kube-apiserver: it ended with code 1\n/);
    assert.match(error.message, /kube-apiserver --etcd-servers=\S+ .* --no-such-flag\n/);
    assert.match(error.message, /unknown flag: --no-such-flag/);
    return true;
  });
  assert.equal(await exists(parent), false);
});

Deno.test("ControlPlane.start() refuses invalid names and paths", async () => {
  await assert.rejects(ownPlane({ name: "No Name" }), /Cannot start a control plane named/);
  await assert.rejects(ownPlane({ dir: `/tmp/${"x".repeat(100)}` }), /too long for a socket/);
  await assert.rejects(ownPlane({ dir: "/tmp" }), /Cannot create the directory "\/tmp"/);
});
