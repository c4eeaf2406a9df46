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

/** Something that goes wrong between a backend and its provider, for a while. */
export interface ApiFault {
  readonly name: string;
  readonly lastsMs: number;
  begin(world: FaultWorld): Promise<unknown> | unknown;
  /** What must hold while it lasts; runs beside it. */
  during?(world: FaultWorld): Promise<unknown>;
  end(world: FaultWorld): Promise<unknown> | unknown;
  /** Whether the backend must read everything again afterwards; it must not without need. */
  readonly isForgetful?: boolean | "perhaps";
  /** For how much longer than others it may be felt. */
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
    // A watch that has seen the very last write may go on after a restart: none has seen this one.
    await writeUnseen(plane);
  },
  end: ({ plane }) => plane.apiServer.start(),
  isForgetful: true,
});

/** With a controller manager that does not wait for its own long back-off. */
async function startAgain({ apiServer, controllerManager }: ControlPlane): Promise<void> {
  await apiServer.start();
  await controllerManager.restart();
}

/** Watches that stand, and bring nothing any more. */
const stalled: Pick<ApiFault, "begin" | "lastsMs"> = {
  lastsMs: 4_000,
  begin: ({ proxy }) => {
    proxy.faults = ({ isWatch }) => isWatch ? { kind: "stall", afterHead: true } : undefined;
    proxy.silenceStreams();
  },
};

let turn = 0;
const TURNS: readonly (Fault | undefined)[] = [
  undefined,
  { kind: "status", code: 500 },
  undefined,
  { kind: "status", code: 503 },
];

/** Faults that a backend with all modules stands every day, in a provider of their own. */
export const API_FAULTS: readonly ApiFault[] = [
  killed(3),
  {
    name: "watches are cut every 2 s",
    lastsMs: 5_000,
    begin: ({ proxy }) => {
      proxy.cutStreams();
      cutting = setInterval(() => proxy.cutStreams(), 2_000);
    },
    end: () => clearInterval(cutting),
  },
  {
    ...stalled,
    name: "watches stall, and break at last",
    end: (world) => {
      heal(world);
      world.proxy.cutStreams();
    },
  },
  {
    name: "the storage forgets the past during an outage",
    lastsMs: 1_000,
    begin: ({ proxy }) => {
      proxy.faults = () => ({ kind: "resetBefore" });
      proxy.cutStreams();
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
  calls("every call is too many", 3_000, () => ({
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
    name: "nobody fills token Secrets",
    lastsMs: 3_000,
    begin: ({ plane }) => plane.controllerManager.kill(),
    // Answered when somebody does again: well before its time is up.
    during: async (world) => await okJson(await world.tryBind("patient")),
    end: ({ plane }) => plane.controllerManager.start(),
  },
  {
    name: "the storage stands still for 5 s",
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
      await eventually("the stuck can bind again", async () => {
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
    isForgetful: "perhaps", // it depends on when its watches end
  },
];

let cutting: ReturnType<typeof setInterval> | undefined;

/** Faults that take minutes. */
export const LONG_API_FAULTS: readonly ApiFault[] = [
  {
    ...killed(60),
    end: ({ plane }) => startAgain(plane),
  },
  { ...stalled, name: "watches stall for good", end: heal, lingersMs: 90_000 },
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
