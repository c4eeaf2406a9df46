import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, type ConfigMap } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, workspace } from "../../support/planes/kube.ts";

const { cli, gateway } = FIELD_MANAGERS;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

/** A namespace, and a client that reaches it through a fault proxy. */
async function behindProxy(maxInFlight = 50) {
  const { kube: direct, namespace, [Symbol.asyncDispose]: leave } = await workspace(
    provider,
    "kube-retries",
  );
  const proxy = await FaultProxy.start(provider);
  const { kube, transport } = await connect(await proxy.kubeconfig(), { maxInFlight });
  return {
    proxy,
    kube,
    namespace,
    /** Creates an object and reads it through the proxy, so that the connection is not new. */
    existing: async (name: string): Promise<ConfigMap> => {
      await direct.create(CONFIG_MAPS, configMap(namespace, name, { k: "before" }), cli);
      return await kube.get(CONFIG_MAPS, { namespace, name });
    },
    /** Reads the stored value without the proxy. */
    stored: async (name: string) => {
      const found = await direct.find(CONFIG_MAPS, { namespace, name });
      return found?.data?.["k"] ?? "nothing";
    },
    /** Waits for some new connections, because a retry would arrive before them. */
    settled: async () => {
      for (let i = 0; i < 3; i++) {
        using again = await connect(await proxy.kubeconfig());
        await again.kube.request("GET", "/version");
      }
    },
    async [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      await proxy[Symbol.asyncDispose]();
      await leave();
    },
  };
}

type Place = Awaited<ReturnType<typeof behindProxy>>;

/** One write of each kind, and the value that it stores. */
const WRITES: {
  name: string;
  method: string;
  after: string;
  write: (kube: KubeClient, before: ConfigMap) => Promise<unknown>;
}[] = [
  {
    name: "create",
    method: "POST",
    after: "after",
    write: (kube, { metadata: { namespace = "", name } }) =>
      kube.create(CONFIG_MAPS, configMap(namespace, `${name}-new`, { k: "after" }), cli),
  },
  {
    name: "update",
    method: "PUT",
    after: "after",
    write: (kube, before) => kube.update(CONFIG_MAPS, { ...before, data: { k: "after" } }, cli),
  },
  {
    name: "apply",
    method: "PATCH",
    after: "after",
    write: (kube, { metadata: { namespace = "", name } }) =>
      kube.apply(CONFIG_MAPS, configMap(namespace, name, { k: "after" }), gateway),
  },
  {
    name: "merge-patch",
    method: "PATCH",
    after: "after",
    write: (kube, { metadata: { namespace, name, resourceVersion = "" } }) =>
      kube.mergePatch(
        CONFIG_MAPS,
        { namespace, name },
        { metadata: { resourceVersion }, data: { k: "after" } },
        cli,
      ),
  },
  {
    name: "delete",
    method: "DELETE",
    after: "nothing",
    write: (kube, { metadata: { namespace, name, uid = "" } }) =>
      kube.delete(CONFIG_MAPS, { namespace, name }, { uid }),
  },
];

const writesIn = ({ proxy }: Place): string[] =>
  proxy.arrivals.filter(({ method }) => method !== "GET").map(({ method }) => method);

const ANSWERS_LOST = [
  { kind: "resetBefore", happens: false },
  { kind: "resetAfter", happens: true },
] as const;

for (const { kind, happens } of ANSWERS_LOST) {
  Deno.test(`KubeClient sends a write once when its answer is lost (${kind})`, async (t) => {
    await using at = await behindProxy();
    for (const { name, method, after, write } of WRITES) {
      await t.step(name, async () => {
        const object = await at.existing(name);
        at.proxy.arrivals.length = 0;
        at.proxy.faults = (request) => request.method === method ? { kind } : undefined;
        await assert.rejects(
          write(at.kube, object),
          (error) => error instanceof KubeError && error.reason === "ConnectionLost",
        );
        at.proxy.faults = () => undefined;
        await at.settled();
        assert.deepEqual(writesIn(at), [method]);
        const target = name === "create" ? `${name}-new` : name;
        const before = name === "create" ? "nothing" : "before";
        assert.equal(await at.stored(target), happens ? after : before);
      });
    }
  });
}

Deno.test("KubeClient sends a write once when the server stalls, and gives up at its deadline", async () => {
  await using at = await behindProxy();
  at.proxy.faults = (request) => request.method === "GET" ? undefined : { kind: "stall" };
  await Promise.all(WRITES.map(async ({ name, write }) => {
    const object = await at.existing(name);
    await assert.rejects(
      write(at.kube, object),
      (error) =>
        error instanceof KubeError &&
        error.reason === "DeadlineExceeded" && /no answer within 15 s$/.test(error.message),
    );
  }));
  at.proxy.faults = () => undefined;
  await at.settled();
  assert.deepEqual(writesIn(at).toSorted(), WRITES.map(({ method }) => method).toSorted());
});

Deno.test("KubeClient waits for the Retry-After of a 429, then writes once", async () => {
  await using at = await behindProxy();
  const read = {
    name: "get",
    method: "GET",
    after: "before",
    write: (kube: KubeClient, { metadata: { namespace, name } }: ConfigMap) =>
      kube.get(CONFIG_MAPS, { namespace, name }),
  };
  // One after another, because they share the count of refusals.
  for (const { name, after, write } of [read, ...WRITES]) {
    const object = await at.existing(name);
    at.proxy.arrivals.length = 0;
    let refusals = 0;
    at.proxy.faults = () =>
      refusals++ === 0 ? { kind: "status", code: 429, headers: { "Retry-After": "1" } } : undefined;
    await write(at.kube, object);
    const [first, second] = at.proxy.arrivals;
    assert.equal(at.proxy.arrivals.length, 2, name);
    const waitedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    assert.ok(waitedMs >= 990 && waitedMs < 3_000, `${name} waited ${waitedMs} ms`);
    assert.equal(await at.stored(name === "create" ? `${name}-new` : name), after);
  }
});

Deno.test("KubeClient gives up on a server that keeps answering 429", async () => {
  await using at = await behindProxy();
  at.proxy.faults = () => ({ kind: "status", code: 429 });
  await assert.rejects(
    at.kube.create(CONFIG_MAPS, configMap(at.namespace, "a"), cli),
    (error) => error instanceof KubeError && error.reason === "TooManyRequests",
  );
  assert.equal(at.proxy.arrivals.length, 4);
});

Deno.test("KubeClient retries reads after a server error, but never writes", async (t) => {
  await using at = await behindProxy();
  for (const code of [500, 502, 503, 504]) {
    const object = await at.existing(`get-${code}`);
    const { namespace = "", name } = object.metadata;
    await t.step(`GET answered ${code} twice`, async () => {
      at.proxy.arrivals.length = 0;
      at.proxy.faults = () => at.proxy.arrivals.length <= 2 ? { kind: "status", code } : undefined;
      assert.deepEqual(await at.kube.get(CONFIG_MAPS, { namespace, name }), object);
      assert.equal(at.proxy.arrivals.length, 3);
    });
    for (const { name: write, method, write: act } of WRITES) {
      await t.step(`${write} answered ${code}`, async () => {
        const target = await at.existing(`${write}-${code}`);
        at.proxy.arrivals.length = 0;
        at.proxy.faults = () => ({ kind: "status", code });
        await assert.rejects(
          act(at.kube, target),
          (error) => error instanceof KubeError && error.status === code,
        );
        at.proxy.faults = () => undefined;
        assert.deepEqual(at.proxy.arrivals.map((arrival) => arrival.method), [method]);
        assert.equal(await at.stored(`${write}-${code}`), "before");
      });
    }
  }
  await t.step("GET that keeps failing", async () => {
    at.proxy.arrivals.length = 0;
    at.proxy.faults = () => ({ kind: "status", code: 503 });
    await assert.rejects(
      at.kube.get(CONFIG_MAPS, { namespace: at.namespace, name: "a" }),
      (error) => error instanceof KubeError && error.reason === "ServiceUnavailable",
    );
    assert.equal(at.proxy.arrivals.length, 4);
  });
});

Deno.test("KubeClient retries a read after a lost connection", async () => {
  await using at = await behindProxy();
  const { metadata: { namespace = "", name } } = await at.existing("a");
  for (const kind of ["resetBefore", "resetAfter"] as const) {
    at.proxy.arrivals.length = 0;
    at.proxy.faults = () => at.proxy.arrivals.length === 1 ? { kind } : undefined;
    assert.equal((await at.kube.get(CONFIG_MAPS, { namespace, name })).metadata.name, name);
    assert.equal(at.proxy.arrivals.length, 2);
  }
});

Deno.test("KubeClient stops at once when the caller's signal aborts", async (t) => {
  await using at = await behindProxy(1);
  const reason = new Error("the caller went away");
  const key = { namespace: at.namespace, name: "a" };
  const soon = async (promise: Promise<unknown>) => {
    const startedAt = performance.now();
    await assert.rejects(promise, (error) => error === reason);
    assert.ok(performance.now() - startedAt < 2_000);
  };
  await t.step("before the call starts", async () => {
    await soon(at.kube.get(CONFIG_MAPS, key, AbortSignal.abort(reason)));
    assert.deepEqual(at.proxy.arrivals, []);
  });
  const calls = {
    read: (signal: AbortSignal) => at.kube.get(CONFIG_MAPS, key, signal),
    write: (signal: AbortSignal) =>
      at.kube.create(CONFIG_MAPS, configMap(at.namespace, "a"), cli, signal),
  };
  for (const [name, call] of Object.entries(calls)) {
    await t.step(`while a ${name} waits for its answer, without a retry`, async () => {
      for (const given of [reason, "a reason that is no Error"]) {
        at.proxy.faults = () => undefined;
        await at.kube.find(CONFIG_MAPS, key); // so that the connection is not new
        at.proxy.arrivals.length = 0;
        at.proxy.faults = ({ path }) => path === "/version" ? undefined : { kind: "stall" };
        const caller = new AbortController();
        const outcome = assert.rejects(call(caller.signal), (error) => error === given);
        await eventually("the request arrived", () => at.proxy.arrivals.length === 1);
        caller.abort(given);
        await outcome;
        await at.settled();
        assert.equal(at.proxy.arrivals.filter(({ path }) => path !== "/version").length, 1);
      }
    });
  }
  await t.step("while the call waits for a connection, without sending it", async () => {
    at.proxy.faults = ({ method }) => method === "GET" ? { kind: "delay", ms: 100 } : undefined;
    at.proxy.arrivals.length = 0;
    const ahead = at.kube.find(CONFIG_MAPS, key);
    await eventually("the only connection is taken", () => at.proxy.arrivals.length === 1);
    const caller = new AbortController();
    const queued = at.kube.create(CONFIG_MAPS, configMap(at.namespace, "b"), cli, caller.signal);
    const outcome = soon(queued);
    await new Promise((turn) => setTimeout(turn, 0)); // now it is queued
    caller.abort(reason);
    await outcome;
    assert.equal(await ahead, undefined);
    assert.equal(await at.kube.find(CONFIG_MAPS, { ...key, name: "b" }), undefined);
    assert.deepEqual(at.proxy.arrivals.map(({ method }) => method), ["GET", "GET"]);
  });
  await t.step("while the call waits for its retry", async () => {
    at.proxy.faults = () => ({ kind: "status", code: 429, headers: { "Retry-After": "9" } });
    at.proxy.arrivals.length = 0;
    const caller = new AbortController();
    const call = at.kube.get(CONFIG_MAPS, key, caller.signal);
    const outcome = assert.rejects(call, (error) => error === reason);
    await eventually("the 429 was sent", () => at.proxy.arrivals.length === 1);
    caller.abort(reason);
    await soon(outcome.then(() => Promise.reject(reason)));
  });
});
