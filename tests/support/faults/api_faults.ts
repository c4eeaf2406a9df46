import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CONFIG_MAPS, CRDS, NAMESPACES } from "../../../common/api/resources.ts";
import { installCrds } from "../../../common/kube/crds.ts";
import { boundaryName, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { VERSION } from "../../../common/version.ts";
import { compactEtcd, writeUnseen } from "../planes/ask_etcd.ts";
import type { Arrival, Fault } from "./fault_proxy.ts";
import type { FaultWorld } from "../worlds/fault_world.ts";
import { okJson } from "../worlds/gateway_world.ts";
import { configMap } from "../planes/kube.ts";
import { sealedSubject } from "../planes/sealed_sessions.ts";
import { writeOf } from "./write_gate.ts";

/** A temporary fault between a backend and its provider. */
export interface ApiFault {
  readonly name: string;
  readonly lastsMs: number;
  begin(world: FaultWorld): Promise<unknown> | unknown;
  /** Checks the backend during the fault. */
  during?(world: FaultWorld): Promise<unknown>;
  end(world: FaultWorld): Promise<unknown> | unknown;
  /** Whether the backend must list everything again afterwards; otherwise it must not. */
  readonly isForgetful?: boolean | "perhaps";
  /** Extra time for the recovery. */
  readonly lingersMs?: number;
}

/** Breaks some of the calls that go through the proxy. */
const calls = (
  name: string,
  lastsMs: number,
  faultOf: (arrival: Arrival) => Fault | undefined,
): ApiFault => ({
  name,
  lastsMs,
  begin: ({ proxy }) => void (proxy.faults = faultOf),
  end: heal,
});

const heal = ({ proxy }: FaultWorld): void => void (proxy.faults = () => undefined);

const killed = (seconds: number): ApiFault => ({
  name: `the API server is down for ${seconds} s`,
  lastsMs: seconds * 1_000,
  begin: async ({ plane }) => {
    await plane.apiServer.kill();
    // A watch that has seen the last write may resume after a restart, so make one it has not seen.
    await writeUnseen(plane);
  },
  end: ({ plane }) => plane.apiServer.start(),
  isForgetful: true,
});

/** Restarts the controller manager as well, because of its long back-off. */
async function startAgain({ apiServer, controllerManager }: ControlPlane): Promise<void> {
  await apiServer.start();
  await controllerManager.restart();
}

/** Watches stay open, but send no more events. */
const stalled: Pick<ApiFault, "begin" | "lastsMs"> = {
  lastsMs: 4_000,
  begin: ({ proxy }) => {
    proxy.faults = ({ isWatch }) => isWatch ? { kind: "stall", afterHead: true } : undefined;
    proxy.watches.silence();
  },
};

let turn = 0;
const TURNS: readonly (Fault | undefined)[] = [
  undefined,
  { kind: "status", code: 500 },
  undefined,
  { kind: "status", code: 503 },
];

/** Faults that a backend with all modules survives; they need their own provider. */
export const API_FAULTS: readonly ApiFault[] = [
  killed(3),
  {
    name: "watches are cut every 2 s",
    lastsMs: 5_000,
    begin: ({ proxy }) => {
      proxy.watches.cut();
      cutting = setInterval(() => proxy.watches.cut(), 2_000);
    },
    end: () => clearInterval(cutting),
  },
  {
    ...stalled,
    name: "watches stall, then break",
    end: (world) => {
      heal(world);
      world.proxy.watches.cut();
    },
  },
  {
    name: "etcd is compacted during an outage",
    lastsMs: 1_000,
    begin: ({ proxy }) => {
      proxy.faults = () => ({ kind: "resetBefore" });
      proxy.watches.cut();
    },
    end: async (world) => {
      await compactEtcd(world.plane);
      await world.plane.apiServer.kill();
      await startAgain(world.plane);
      heal(world);
    },
    isForgetful: true,
  },
  calls("half of the answers are 500 or 503", 4_000, () => TURNS[turn++ % TURNS.length]),
  calls("every call is answered 429", 3_000, () => ({
    kind: "status",
    code: 429,
    headers: { "Retry-After": "1" },
  })),
  calls("every call takes 2 s", 5_000, () => ({ kind: "delay", ms: 2_000 })),
  calls(
    "answers to writes are lost",
    4_000,
    (arrival) => writeOf(arrival) ? { kind: "resetAfter" } : undefined,
  ),
  {
    name: "token Secrets stay empty",
    lastsMs: 3_000,
    begin: ({ plane }) => plane.controllerManager.kill(),
    // The bind is answered when the Secret is filled, before it times out.
    during: async (world) => await okJson(await world.tryBind("patient")),
    end: ({ plane }) => plane.controllerManager.start(),
  },
  {
    name: "etcd is paused for 5 s",
    lastsMs: 5_000,
    begin: ({ plane }) => plane.etcd.pause(),
    end: ({ plane }) => plane.etcd.resume(),
  },
  {
    name: "a boundary is stuck in Terminating",
    lastsMs: 2_000,
    begin: (world) => makeStuck(world),
    during: (world) => world.bindWorks("free"),
    end: async (world) => {
      await releaseStuck(world);
      await eventually("the identity can bind again", async () => {
        await world.bindWorks(STUCK);
        return true;
      });
    },
  },
  {
    name: "our CRDs are deleted",
    lastsMs: 2_000,
    begin: async ({ provider: { kube } }) => {
      for (const { metadata: { name } } of serviceCrds()) await kube.delete(CRDS, { name });
    },
    end: reinstall,
    isForgetful: "perhaps", // depends on when its watches end
  },
];

let cutting: ReturnType<typeof setInterval> | undefined;

/** Faults that take minutes. */
export const LONG_API_FAULTS: readonly ApiFault[] = [
  {
    ...killed(60),
    end: ({ plane }) => startAgain(plane),
  },
  { ...stalled, name: "watches stall forever", end: heal, lingersMs: 90_000 },
];

const STUCK = "stuck";
const HELD = { namespace: boundaryName(sealedSubject(STUCK)), name: "held" };

async function makeStuck(world: FaultWorld): Promise<void> {
  const { kube } = world.provider;
  await world.bindWorks(STUCK);
  const held = configMap(HELD.namespace, HELD.name);
  const metadata = { ...held.metadata, finalizers: ["example.org/held"] };
  await kube.create(CONFIG_MAPS, { ...held, metadata }, FIELD_MANAGERS.installer);
  await kube.delete(NAMESPACES, { name: HELD.namespace });
}

async function releaseStuck({ provider: { kube } }: FaultWorld): Promise<void> {
  const { metadata: { resourceVersion = "" } } = await kube.get(CONFIG_MAPS, HELD);
  const patch = { metadata: { resourceVersion, finalizers: null } };
  await kube.mergePatch(CONFIG_MAPS, HELD, patch, FIELD_MANAGERS.installer);
}

async function reinstall(world: FaultWorld): Promise<void> {
  const { kube } = world.provider;
  const names = serviceCrds().map(({ metadata }) => metadata.name);
  await eventually("the CRDs are gone", async () => {
    const left = await kube.list(CRDS);
    return !left.some(({ metadata }) => names.includes(metadata.name));
  });
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
  });
  const limit = AbortSignal.timeout(30_000);
  await installCrds({ kube, log, version: VERSION }, serviceCrds(), limit);
  await world.offerAgain();
}
