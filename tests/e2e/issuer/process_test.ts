import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { CRDS, LEASES } from "../../../common/api/resources.ts";
import { Backend } from "../../support/programs/backend.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { connect } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const plane = await ownPlane();
const admin = await connect(plane);
Deno.test.afterAll(async () => {
  admin[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

const ISSUER = "--enable-gateway=false";
const NOTHING = [ISSUER, "--enable-issuer=false"];
const STOP_LIMIT_MS = 10_000;

/** Fetches the status and text of a page. */
async function page(url: string): Promise<[status: number, body: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

/** Stops a backend and checks that it exits with 0 and in time. */
async function stopsInTime(backend: Backend, signal: Deno.Signal = "SIGTERM"): Promise<void> {
  const since = performance.now();
  backend.signal(signal);
  assert.equal(await backend.ended(), 0);
  assert.ok(performance.now() - since < STOP_LIMIT_MS);
}

const errorsOf = (backend: Backend) => backend.log.filter(({ level }) => level === "error");

// The first two tests need a provider without CRDs.
Deno.test("xbind-backend is not ready until our CRDs are installed", async () => {
  await using backend = await Backend.start(plane, { flags: [ISSUER, "--install-crds=false"] });
  const probes = await backend.addressOf("/readyz");
  assert.deepEqual(await page(`${probes}/healthz`), [200, "ok"]);
  assert.deepEqual(await page(`${probes}/readyz`), [
    503,
    "not ready: the caches are not filled yet",
  ]);

  await using installer = await Backend.start(plane, { flags: NOTHING });
  assert.equal(await installer.ended(), 0);
  const { status } = await admin.kube.get(CRDS, { name: "grants.iam.xbind.io" });
  assert.ok(
    status?.conditions?.some(({ type, status }) => type === "Established" && status === "True"),
  );
  await eventually("the backend is ready", async () => (await page(`${probes}/readyz`))[0] === 200);
  await stopsInTime(backend);
});

Deno.test("xbind-backend without modules installs the CRDs, logs that and exits 0", async () => {
  const names = ["collections.catalog.xbind.io", "exports.catalog.xbind.io", "grants.iam.xbind.io"];
  for (const name of names) await admin.kube.delete(CRDS, { name });
  await eventually("they are gone", async () => (await admin.kube.list(CRDS)).length === 0);
  await using backend = await Backend.start(plane, { flags: NOTHING });
  assert.equal(await backend.ended(), 0);
  assert.deepEqual((await admin.kube.list(CRDS)).map(({ metadata }) => metadata.name), names);
  await backend.logged("the CRDs are installed and no module is enabled");
  assert.ok(!backend.log.some(({ msg }) => msg === "listening"), "it listens");
});

Deno.test("xbind-backend serves metrics and probes, each on its own address", async () => {
  const [metricsPort, probePort] = [freePort(), freePort()];
  const flags = [
    ISSUER,
    `--metrics-bind-address=127.0.0.1:${metricsPort}`,
    `--health-probe-bind-address=:${probePort}`,
  ];
  await using backend = await Backend.start(plane, { flags });
  await backend.logged("issuing");
  const [metrics, probes] = [metricsPort, probePort].map((port) => `http://127.0.0.1:${port}`);
  await eventually("it is ready", async () => (await page(`${probes}/readyz`))[0] === 200);
  assert.deepEqual(await page(`${probes}/healthz`), [200, "ok"]);
  assert.equal((await page(`${probes}/metrics`))[0], 404);
  assert.equal((await page(`${metrics}/healthz`))[0], 404);
  const [status, text] = await page(`${metrics}/metrics`);
  assert.equal(status, 200);
  const samples = [
    /^controller_runtime_reconcile_total\{controller="grant",result="success"\} \d+$/m,
    /^controller_runtime_reconcile_errors_total\{controller="export"\} 0$/m,
    /^controller_runtime_reconcile_time_seconds_bucket\{.*controller="grant".*\} \d+$/m,
    /^controller_runtime_active_workers\{controller="grant"\} 0$/m,
    /^workqueue_depth\{.*"grant".*\} 0$/m,
    /^workqueue_adds_total\{.*"export".*\} \d+$/m,
    /^rest_client_requests_total\{code="200",host="127\.0\.0\.1:\d+",method="GET"\} [1-9]\d*$/m,
    /^xbind_grants\{state="ready"\} 0$/m,
  ];
  for (const sample of samples) assert.match(text, sample);
  await stopsInTime(backend);
  assert.deepEqual(errorsOf(backend), []);
});

Deno.test("xbind-backend with only the gateway serves no metrics and no probes", async () => {
  const ports = [freePort(), freePort()];
  const flags = [
    `--metrics-bind-address=127.0.0.1:${ports[0]}`,
    `--health-probe-bind-address=127.0.0.1:${ports[1]}`,
  ];
  const dial = async (port: number): Promise<boolean> => {
    try {
      using _ = await Deno.connect({ hostname: "127.0.0.1", port });
      return true;
    } catch (error) {
      assert.ok(error instanceof Deno.errors.ConnectionRefused, String(error));
      return false;
    }
  };
  const answering = async (...more: string[]) => {
    await using gateway = await Gateway.start(plane, { flags: [...flags, ...more] });
    const { token } = await gateway.login();
    await gateway.read(token, "/api/catalog"); // answered once everything has started
    const served = gateway.backend.log.filter(({ msg }) => msg === "listening").length;
    return [served, ...await Promise.all(ports.map(dial))];
  };
  assert.deepEqual(await answering("--enable-issuer=false"), [1, false, false]);
  assert.deepEqual(await answering(), [3, true, true]);
});

Deno.test("xbind-backend leads with the Lease that --leader-election-id names", async () => {
  const name = "my-own.example.org";
  const flags = [ISSUER, "--leader-elect", `--leader-election-id=${name}`];
  await using backend = await Backend.start(plane, { flags });
  await backend.logged("issuing");
  const leases = await admin.kube.list(LEASES, { namespace: "default" });
  const held = leases.map(({ metadata, spec }) => [metadata.name, !!spec?.holderIdentity]);
  assert.deepEqual(held, [[name, true]], "the only Lease");
  await stopsInTime(backend);
});

Deno.test("xbind-backend serves no metrics when the address is 0", async () => {
  const flags = [ISSUER, "--metrics-bind-address=0"];
  await using backend = await Backend.start(plane, { flags });
  await backend.logged("issuing");
  await backend.addressOf("/readyz");
  const served = backend.log.filter(({ msg }) => msg === "listening");
  assert.deepEqual(served.map(({ paths }) => paths), [["/healthz", "/readyz"]]);
});

Deno.test("xbind-backend names the flag of an address that is in use, and exits 1", async (t) => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  for (const flag of ["--metrics-bind-address", "--health-probe-bind-address"]) {
    await t.step(flag, async () => {
      const flags = [ISSUER, `${flag}=127.0.0.1:${port}`];
      await using backend = await Backend.start(plane, { flags });
      assert.equal(await backend.ended(), 1);
      const said = `Cannot listen on "127.0.0.1:${port}" (${flag}): the address is in use`;
      assert.equal(errorsOf(backend).length, 1);
      assert.ok(String(errorsOf(backend)[0]?.["error"]).startsWith(said), backend.lines.join("\n"));
    });
  }
});

Deno.test("xbind-backend stops in time", async (t) => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await t.step(`at ${signal}`, async () => {
      await using backend = await Backend.start(plane, { flags: [ISSUER] });
      await backend.logged("issuing");
      await stopsInTime(backend, signal);
      assert.deepEqual(errorsOf(backend), []);
    });
  }
  await t.step("before it has reached the API server", async () => {
    await plane.apiServer.pause();
    try {
      await using backend = await Backend.start(plane, { flags: [ISSUER] });
      await backend.logged("starting");
      await stopsInTime(backend);
    } finally {
      plane.apiServer.resume();
    }
  });
  await t.step("while the API server hangs", async () => {
    await using backend = await Backend.start(plane, { flags: [ISSUER] });
    await backend.logged("issuing");
    await plane.apiServer.pause();
    try {
      await stopsInTime(backend);
    } finally {
      plane.apiServer.resume();
    }
  });
});
