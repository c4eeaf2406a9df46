import assert from "node:assert/strict";
import type { LookupFunction } from "node:net";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS, NAMESPACES } from "../../../common/api/resources.ts";
import { Cache } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { connect, running, whoAmI } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const key = { name: "default" };
const base64 = (text: string): string => btoa(text);

Deno.test("Transport uses one connection for sequential calls", async () => {
  await using proxy = await FaultProxy.start(provider);
  using connected = await connect(await proxy.kubeconfig());
  for (let i = 0; i < 50; i++) await connected.kube.get(NAMESPACES, key);
  assert.equal(proxy.arrivals.length, 50);
  assert.equal(proxy.connections, 1);
});

Deno.test("Transport opens at most maxInFlight connections, and every waiting call gets its turn", async () => {
  await using proxy = await FaultProxy.start(provider);
  using connected = await connect(await proxy.kubeconfig(), { maxInFlight: 4 });
  const calls = Array.from({ length: 60 }, () => connected.kube.get(NAMESPACES, key));
  const names = (await Promise.all(calls)).map(({ metadata }) => metadata.name);
  assert.deepEqual(new Set(names), new Set(["default"]));
  assert.equal(proxy.arrivals.length, 60);
  assert.equal(proxy.mostConnections, 4);
});

Deno.test("Transport starts a waiting call when the call before it is aborted", async () => {
  await using proxy = await FaultProxy.start(provider);
  using connected = await connect(await proxy.kubeconfig(), { maxInFlight: 1 });
  await connected.kube.get(NAMESPACES, key);
  proxy.arrivals.length = 0;
  proxy.faults = () => proxy.arrivals.length === 1 ? { kind: "stall" } : undefined;
  const caller = new AbortController();
  const stalled = assert.rejects(connected.kube.get(NAMESPACES, key, caller.signal), /given up/);
  await eventually("the only connection is taken", () => proxy.arrivals.length === 1);
  const waiting = connected.kube.get(NAMESPACES, key);
  caller.abort(new Error("given up"));
  await stalled;
  assert.equal((await waiting).metadata.name, "default");
});

Deno.test("Transport closes a connection that opens after its call was aborted", async () => {
  await using proxy = await FaultProxy.start(provider);
  const found = Promise.withResolvers<void>();
  const lookup: LookupFunction = (_host, options, done) =>
    void found.promise.then(() =>
      options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)
    );
  const kubeconfig = await proxy.kubeconfig();
  const text = await Deno.readTextFile(kubeconfig);
  await Deno.writeTextFile(kubeconfig, text.replace("//127.0.0.1:", "//localhost:"));
  using connected = await connect(kubeconfig, { maxInFlight: 1, lookup });
  const caller = new AbortController();
  const call = assert.rejects(connected.kube.get(NAMESPACES, key, caller.signal), /given up/);
  caller.abort(new Error("given up"));
  await call;
  found.resolve();
  assert.equal((await connected.kube.get(NAMESPACES, key)).metadata.name, "default");
  assert.equal(proxy.arrivals.length, 1);
  connected[Symbol.dispose]();
  await eventually("every connection is closed", () => proxy.openConnections === 0);
});

Deno.test("Transport does not count watches among the calls in flight", async () => {
  await using proxy = await FaultProxy.start(provider);
  using connected = await connect(await proxy.kubeconfig(), { maxInFlight: 1 });
  await using _namespaces = await running(new Cache(wholeObjects(NAMESPACES)), connected.kube);
  await using _configMaps = await running(new Cache(wholeObjects(CONFIG_MAPS)), connected.kube);
  assert.equal(proxy.watches.count, 2);
  assert.equal((await connected.kube.get(NAMESPACES, key)).metadata.name, "default");
});

Deno.test("Transport reports every answer and every lost answer to its observer", async () => {
  await using proxy = await FaultProxy.start(provider);
  const seen: [string, number][] = [];
  using connected = await connect(await proxy.kubeconfig(), {
    onAnswer: (method, status) => seen.push([method, status]),
  });
  await connected.kube.get(NAMESPACES, key);
  await connected.kube.find(NAMESPACES, { name: "kube-transport-none" });
  proxy.faults = () => ({ kind: "resetBefore" });
  await assert.rejects(whoAmI(connected.kube));
  assert.deepEqual(seen, [["GET", 200], ["GET", 404], ["POST", 0]]);
});

Deno.test("Transport trusts only the authority of the kubeconfig", async (t) => {
  const client = await provider.userCertificate("kube-transport");
  const user = {
    "client-certificate-data": base64(client.cert),
    "client-key-data": base64(client.key),
  };
  await using proxy = await FaultProxy.start(provider, {
    serverNames: ["proxy.example.org"],
    identity: client,
  });
  const CASES: [name: string, cluster: object, refusal?: RegExp][] = [
    [
      "a certificate for another name is refused",
      {},
      /: Hostname\/IP does not match certificate's altnames/,
    ],
    ["tls-server-name sets the expected name", { "tls-server-name": "proxy.example.org" }],
    [
      "a wrong tls-server-name is refused",
      { "tls-server-name": "other.example.org" },
      /: Hostname\/IP does not match certificate's altnames/,
    ],
    [
      "a certificate of another authority is refused",
      {
        "tls-server-name": "proxy.example.org",
        "certificate-authority-data": base64((await createAuthority("another authority")).cert),
      },
      /: the server's certificate is not signed by a trusted authority$/,
    ],
    [
      "a certificate of no public authority is refused",
      { "tls-server-name": "proxy.example.org", "certificate-authority-data": undefined },
      /: the server's certificate is not signed by a trusted authority$/,
    ],
    [
      "insecure-skip-tls-verify accepts any certificate",
      { "insecure-skip-tls-verify": true, "certificate-authority-data": undefined },
    ],
  ];
  for (const [name, cluster, refusal] of CASES) {
    await t.step(name, async () => {
      proxy.arrivals.length = 0;
      using connected = await connect(await proxy.kubeconfig(user, cluster));
      if (!refusal) return assert.equal(await whoAmI(connected.kube), "kube-transport");
      await assert.rejects(
        whoAmI(connected.kube),
        (error) =>
          error instanceof KubeError && error.reason === "ConnectionFailed" &&
          refusal.test(error.message),
      );
      assert.deepEqual(proxy.arrivals, []);
    });
  }
});
