import assert from "node:assert/strict";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { CONFIG_MAPS, NAMESPACES } from "../../../common/api/resources.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import { isForbidden, KubeError } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import {
  configMap,
  connect,
  TEST_USER_AGENT,
  uniqueName,
  workspace,
} from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

/** A client behind a fault proxy. */
async function behindProxy() {
  const proxy = await FaultProxy.start(provider);
  const { kube, transport } = await connect(await proxy.kubeconfig());
  return {
    proxy,
    kube,
    async [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Checks the reason, status and message of a KubeError. */
const isKubeError = (reason: string, status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof KubeError, String(error));
  assert.equal(error.reason, reason);
  assert.equal(error.status, status);
  assert.match(error.message, message);
  assert.equal(error.code, "PROVIDER_FAILED");
  return true;
};

Deno.test("KubeError carries the reason and the message of Kubernetes", async (t) => {
  await using at = await workspace(provider, "kube-errors");
  const { kube, namespace } = at;
  await t.step("Forbidden", async () => {
    using nobody = await connect(await provider.kubeconfigFor("kube-errors-nobody"));
    const refused = nobody.kube.get(CONFIG_MAPS, { namespace, name: "a" });
    const error: unknown = await refused.catch((caught) => caught);
    assert.ok(isForbidden(error));
    isKubeError("Forbidden", 403, /^Cannot get .*\/a": .*User "kube-errors-nobody" cannot get/)(
      error,
    );
  });
  await t.step("Invalid", async () => {
    await assert.rejects(
      kube.create(CONFIG_MAPS, configMap(namespace, "Not_A_Name"), cli),
      isKubeError("Invalid", 422, /^Cannot create .* metadata\.name: Invalid value: "Not_A_Name"/),
    );
  });
  await t.step("NotFound for a namespace", async () => {
    await assert.rejects(
      kube.create(CONFIG_MAPS, configMap("kube-errors-none", "a"), cli),
      isKubeError("NotFound", 404, /namespaces "kube-errors-none" not found$/),
    );
  });
  await t.step("NotFound for a kind", async () => {
    const type = { ...CONFIG_MAPS, group: "no.example.org", namespaced: false };
    await assert.rejects(
      kube.list(type),
      isKubeError("NotFound", 404, /^Cannot list configmaps: the server answered 404$/),
    );
  });
});

Deno.test("KubeClient sends its user agent", async () => {
  using connected = await connect(provider);
  const name = uniqueName("kube-errors-agent");
  await connected.kube.find(CONFIG_MAPS, { namespace: "default", name });
  const [event] = await eventually("the call is in the audit log", async () => {
    const events = await auditEvents(provider, ({ requestURI }) => requestURI.endsWith(name));
    return events.length > 0 && events;
  });
  assert.equal(event?.userAgent, TEST_USER_AGENT);
});

Deno.test("KubeClient calls beforeWrite() only before writes, and sends no refused write", async () => {
  await using at = await workspace(provider, "kube-errors");
  const { namespace } = at;
  const guarded = new KubeClient(at.kube.transport, () => {
    throw new Error("not the leader any more");
  });
  const object = configMap(namespace, "a");
  await assert.rejects(guarded.create(CONFIG_MAPS, object, cli), /not the leader any more/);
  await assert.rejects(guarded.apply(CONFIG_MAPS, object, cli), /not the leader any more/);
  assert.equal(await guarded.find(CONFIG_MAPS, { namespace, name: "a" }), undefined);
});

Deno.test("KubeClient refuses invalid object names without a call", async (t) => {
  await using at = await behindProxy();
  const { kube, proxy } = at;
  const HOSTILE = [
    "",
    ".",
    "..",
    "../secrets/a",
    "a/b",
    "a%2fb",
    "a\nb",
    "a\u0000b",
    "\ud800",
    "x".repeat(254),
  ];
  for (const name of HOSTILE) {
    await t.step(JSON.stringify(name).slice(0, 40), async () => {
      const refused = isKubeError("InvalidName", 0, /^Cannot build an API path: /);
      const itself = { namespace: "default", name };
      await assert.rejects(kube.get(CONFIG_MAPS, { namespace: name, name: "a" }), refused);
      await assert.rejects(kube.get(CONFIG_MAPS, itself), refused);
      await assert.rejects(kube.find(NAMESPACES, { name }), refused);
      await assert.rejects(kube.list(CONFIG_MAPS, { namespace: name }), refused);
      await assert.rejects(kube.create(CONFIG_MAPS, configMap(name, "a"), cli), refused);
      await assert.rejects(kube.apply(CONFIG_MAPS, configMap("default", name), cli), refused);
      await assert.rejects(kube.delete(CONFIG_MAPS, itself), refused);
      assert.deepEqual(proxy.arrivals, []);
    });
  }
});

Deno.test("KubeClient percent-encodes special characters in a name", async (t) => {
  await using at = await behindProxy();
  for (const name of ["a?watch=true", "a#b", "a b", "größe", "a;b=c", "a\\b"]) {
    await t.step(name, async () => {
      at.proxy.arrivals.length = 0;
      assert.equal(await at.kube.find(CONFIG_MAPS, { namespace: "default", name }), undefined);
      assert.deepEqual(
        at.proxy.arrivals.map(({ path }) => path),
        [`/api/v1/namespaces/default/configmaps/${encodeURIComponent(name)}`],
      );
    });
  }
});

Deno.test("KubeClient makes a readable error of any error response", async (t) => {
  await using at = await behindProxy();
  const { kube, proxy } = at;
  const page = `<html><body>${"x".repeat(10_000)}</body></html>`;
  const status = (reason: string, message: string) =>
    JSON.stringify({ kind: "Status", apiVersion: "v1", reason, message });
  const CASES: [code: number, body: string, reason: string, message: RegExp][] = [
    [502, page, "Unknown", /: the server answered 502$/],
    [400, "", "BadRequest", /: the server answered 400$/],
    [302, "", "Unknown", /: the server answered 302$/],
    [410, status("Expired", "too old"), "Expired", /: too old$/],
    [418, status("Teapot", "m".repeat(5_000)), "Teapot", /: m{1000}…$/],
    [200, page, "InvalidAnswer", /: the answer is not JSON$/],
    [200, "", "InvalidAnswer", /: the answer is not JSON$/],
  ];
  for (const [code, body, reason, message] of CASES) {
    await t.step(`${code} ${body.slice(0, 20)}`, async () => {
      proxy.faults = () => ({ kind: "status", code, body });
      await assert.rejects(
        kube.create(CONFIG_MAPS, configMap("default", "a"), cli),
        isKubeError(reason, code, message),
      );
    });
  }
});

Deno.test("KubeClient reports a refused connection, and that nothing was sent", async () => {
  await using proxy = await FaultProxy.start(provider);
  const server = `https://127.0.0.1:${freePort()}`;
  using connected = await connect(await proxy.kubeconfig({}, { server }));
  await assert.rejects(
    connected.kube.create(CONFIG_MAPS, configMap("default", "a"), cli),
    isKubeError("ConnectionFailed", 0, /: connection refused$/),
  );
});
