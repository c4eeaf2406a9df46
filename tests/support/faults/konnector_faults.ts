import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { compactEtcd } from "../planes/ask_etcd.ts";
import { everyDayOrSoak } from "../planes/soak.ts";
import type { Arrival, Fault, FaultProxy } from "./fault_proxy.ts";
import type { Side } from "./kill_matrix.ts";
import { writeOf } from "./write_gate.ts";

/** One cluster of a konnector, and the proxy through which the konnector reaches it. */
export interface FaultSite {
  readonly plane: ControlPlane;
  readonly proxy: FaultProxy;
  /** Replaces the address in the Secret of the provider, or puts the right one back. */
  readonly redirect: (server?: string) => Promise<unknown>;
  /** Touches the Secret of the provider, as a new bind does. */
  readonly touchSecret: () => Promise<unknown>;
  /** Sends a signal to the konnector. */
  readonly signal: (signal: Deno.Signal) => void;
}

/** A temporary fault between a konnector and one or both of its clusters. */
export interface KonnectorFault {
  readonly name: string;
  readonly lastsMs: number;
  /** Where it happens in everyday runs. */
  readonly on: readonly Side[];
  /** Where it happens in long runs; each place alone, and both if there are two. */
  readonly soakOn?: readonly Side[];
  begin(site: FaultSite): Promise<unknown> | unknown;
  end(site: FaultSite): Promise<unknown> | unknown;
  /** Extra time for the recovery, for faults that a konnector asks about only now and then. */
  readonly lingersMs?: number;
}

const heal = ({ proxy }: FaultSite): void => void (proxy.faults = () => undefined);

/** Breaks calls, and the open watches, so that new ones have the fault. */
const calls = (
  name: string,
  on: readonly Side[],
  lastsMs: number,
  faultsOf: () => (arrival: Arrival) => Fault | undefined,
): KonnectorFault => ({
  name,
  on,
  lastsMs,
  begin: ({ proxy }) => {
    proxy.faults = faultsOf();
    proxy.watches.cut();
  },
  end: heal,
});

const expired = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  reason: "Expired",
  message: "too old resource version",
  code: 410,
});

const forbidden = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  reason: "Forbidden",
  message: 'User "konnector" cannot do this',
  code: 403,
});

const refusal = (code: number, body = "", headers = {}) => (): Fault => ({
  kind: "status",
  code,
  headers: { "Content-Type": "application/json", ...headers },
  body,
});

/** Breaks the connection before the first write of each kind to an object, and after the second. */
function resets(): (arrival: Arrival) => Fault | undefined {
  const tries = new Map<string, number>();
  return (arrival) => {
    const write = writeOf(arrival);
    if (!write) return undefined;
    const key = `${write.what} ${write.name}`;
    const count = (tries.get(key) ?? 0) + 1;
    tries.set(key, count);
    if (count > 2) return undefined;
    return { kind: count === 1 ? "resetBefore" : "resetAfter" };
  };
}

const cutting = new Map<FaultProxy, ReturnType<typeof setInterval>>();
const SLOW_MS = everyDayOrSoak(1_500, 5_000);

/** Faults that a konnector survives without losing or repeating work. */
export const KONNECTOR_FAULTS: readonly KonnectorFault[] = [
  {
    name: "the API server is killed",
    on: ["consumer", "provider"],
    lastsMs: everyDayOrSoak(500, 10_000),
    begin: ({ plane }) => plane.apiServer.kill(),
    end: ({ plane }) => plane.apiServer.start(),
  },
  {
    name: "etcd is stopped",
    on: ["provider"],
    lastsMs: everyDayOrSoak(2_500, 8_000),
    begin: ({ plane }) => plane.etcd.pause(),
    end: ({ plane }) => plane.etcd.resume(),
  },
  {
    name: "watches are cut again and again",
    on: ["consumer", "provider"],
    lastsMs: everyDayOrSoak(1_500, 6_000),
    begin: ({ proxy }) => {
      proxy.watches.cut();
      cutting.set(proxy, setInterval(() => proxy.watches.cut(), 300));
    },
    end: ({ proxy }) => clearInterval(cutting.get(proxy)),
  },
  {
    name: "watches stall, then break",
    on: ["consumer"],
    lastsMs: everyDayOrSoak(1_500, 6_000),
    begin: ({ proxy }) => {
      proxy.faults = ({ isWatch }) => isWatch ? { kind: "stall", afterHead: true } : undefined;
      proxy.watches.silence();
    },
    end: (site) => {
      heal(site);
      site.proxy.watches.cut();
    },
  },
  {
    name: "events of watches come late, all at once",
    on: ["consumer", "provider"],
    lastsMs: everyDayOrSoak(2_000, 10_000),
    begin: ({ proxy }) => proxy.watches.hold(),
    end: ({ proxy }) => proxy.watches.release(),
  },
  calls("versions of watches are too old", ["provider"], 1_000, () => ({ isWatch, path }) => {
    return isWatch && !path.includes("sendInitialEvents") ? refusal(410, expired)() : undefined;
  }),
  calls("lines of watches are torn", ["consumer"], 1_500, () => ({ isWatch }) => {
    if (!isWatch) return undefined;
    return { kind: "lines", pass: (line) => [line.slice(0, line.length / 2)] };
  }),
  calls("writes break before, then after they are stored", ["consumer", "provider"], 2_000, resets),
  calls("every call is answered 429", ["provider"], 2_000, () => {
    return refusal(429, "", { "Retry-After": "1" });
  }),
  calls("calls are answered 500 and 503 in turns", ["consumer", "provider"], 3_000, () => {
    let turn = 0;
    const answers = [undefined, refusal(500)(), undefined, refusal(503)()];
    return () => answers[turn++ % answers.length];
  }),
  calls("every call is answered 401", ["consumer"], 1_500, () => refusal(401)),
  {
    ...calls("the provider answers 401 until it is bound again", ["provider"], 1_500, () => {
      return refusal(401);
    }),
    soakOn: ["provider"],
    end: async (site) => {
      heal(site);
      await site.touchSecret();
    },
  },
  {
    ...calls("every call is answered 403", ["consumer"], 1_500, () => refusal(403, forbidden)),
    // A missing right of the provider is asked for again every 30 s.
    lingersMs: everyDayOrSoak(15_000, 60_000),
  },
  calls(`every call takes ${SLOW_MS} ms`, ["provider"], 2 * SLOW_MS, () => {
    return () => ({ kind: "delay", ms: SLOW_MS });
  }),
  {
    name: "the server has another certificate",
    on: ["provider"],
    lastsMs: 1_500,
    begin: ({ proxy }) => proxy.disguise(true),
    end: ({ proxy }) => proxy.disguise(false),
  },
  {
    name: "the provider's name cannot be resolved",
    on: ["provider"],
    soakOn: ["provider"],
    lastsMs: 1_500,
    begin: ({ redirect }) => redirect("https://gone.invalid:6443"),
    end: ({ redirect }) => redirect(),
  },
  {
    name: "the konnector is stopped",
    on: ["consumer"],
    soakOn: ["consumer"],
    lastsMs: everyDayOrSoak(2_000, 30_000),
    begin: ({ signal }) => signal("SIGSTOP"),
    end: ({ signal }) => signal("SIGCONT"),
  },
];

/** Faults that take too long for everyday runs. */
export const LONG_KONNECTOR_FAULTS: readonly KonnectorFault[] = [
  {
    name: "etcd is compacted during an outage",
    on: ["provider"],
    lastsMs: 1_000,
    begin: ({ proxy }) => {
      proxy.faults = () => ({ kind: "resetBefore" });
      proxy.watches.cut();
    },
    end: async (site) => {
      await compactEtcd(site.plane);
      await site.plane.apiServer.kill();
      await site.plane.apiServer.start();
      heal(site);
    },
  },
  {
    name: "watches stall forever",
    on: ["provider"],
    lastsMs: 5_000,
    begin: ({ proxy }) => {
      proxy.faults = ({ isWatch }) => isWatch ? { kind: "stall", afterHead: true } : undefined;
      proxy.watches.silence();
    },
    end: heal,
    lingersMs: 100_000,
  },
  {
    ...calls("no call is answered", ["provider"], 5_000, () => () => ({ kind: "stall" })),
    lingersMs: 60_000,
  },
];
