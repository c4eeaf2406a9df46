import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { IAM_API_VERSION } from "../common/api/groups.ts";
import { CRDS, GRANTS } from "../common/api/resources.ts";
import { FIELD_MANAGERS, grantName } from "../common/api/names.ts";
import { sleep } from "../common/time/wait.ts";
import { Backend } from "../tests/support/programs/backend.ts";
import { crdFor, EXPORTED, WIDGETS } from "../tests/support/planes/issuer_samples.ts";
import { connect } from "../tests/support/planes/kube.ts";
import type { Figure } from "./figure.ts";

/** The end of a leader, and the time within which a standby must work. */
interface Loss {
  readonly signal: Deno.Signal;
  readonly how: string;
  readonly comparedTo: string;
  readonly goalSeconds: number;
}

const LOSSES: readonly Loss[] = [
  {
    signal: "SIGKILL",
    how: "killed",
    comparedTo: "its lease of 15 s has to run out",
    goalSeconds: 20,
  },
  {
    signal: "SIGSTOP",
    how: "frozen",
    comparedTo: "its lease of 15 s has to run out",
    goalSeconds: 20,
  },
  {
    signal: "SIGTERM",
    how: "asked to stop",
    comparedTo: "standbys look every 2 s",
    goalSeconds: 5,
  },
];
const FLAGS = ["--enable-gateway=false", "--leader-elect"];
const RECONCILES =
  /^controller_runtime_reconcile_total\{controller="grant",result="success"\} (\d+)/m;
const PRECISION_MS = 20;
const RENEWAL_MS = 2_000;

/** Measures the time from a leader's end to the first reconcile of the standby. */
export async function* benchTakeover(
  rounds: number,
  progress: (text: string) => void,
): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({ name: "bench" });
  let leader = await Backend.start(plane, { flags: FLAGS });
  try {
    await leader.logged("issuing");
    await makeGrant(plane);
    for (const loss of LOSSES) {
      progress(`the leader is ${loss.how}`);
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) {
        await eventually("the leader works", async () => await reconcilesOf(leader) > 0);
        const standby = await Backend.start(plane, { flags: FLAGS });
        await standby.logged("standing by");
        seconds.push(await takeover(leader, standby, loss.signal) / 1000);
        await leader[Symbol.asyncDispose]();
        leader = standby;
      }
      yield figureOf(loss, seconds);
    }
  } finally {
    await leader[Symbol.asyncDispose]();
  }
}

async function takeover(leader: Backend, standby: Backend, signal: Deno.Signal): Promise<number> {
  await eventually("the standby has filled its caches", async () => {
    const answer = await fetch(`${await standby.addressOf("/readyz")}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  });
  await sleep(Math.random() * RENEWAL_MS); // at a random moment between two renewals
  const start = performance.now();
  leader.signal(signal);
  await eventually("the standby works", async () => await reconcilesOf(standby) > 0, {
    timeoutMs: 120_000,
    everyMs: PRECISION_MS,
  });
  return performance.now() - start;
}

async function reconcilesOf(backend: Backend): Promise<number> {
  const answer = await fetch(`${await backend.addressOf("/metrics")}/metrics`);
  return Number(RECONCILES.exec(await answer.text())?.[1] ?? 0);
}

const figureOf = ({ how, comparedTo, goalSeconds }: Loss, seconds: readonly number[]): Figure => {
  const worst = Math.max(...seconds);
  return {
    name: `a standby reconciles after the leader was ${how}`,
    measured: seconds.map((each) => `${each.toFixed(1)} s`).join(", "),
    comparedTo,
    goal: `≤ ${goalSeconds} s`,
    met: worst <= goalSeconds,
  };
};

/** Creates a Grant for the leader to reconcile. */
async function makeGrant(plane: ControlPlane): Promise<void> {
  using admin = await connect(plane);
  await admin.kube.apply(CRDS, crdFor(WIDGETS, EXPORTED), FIELD_MANAGERS.installer);
  await admin.kube.create(GRANTS, {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name: grantName("widgets", "bench") },
    spec: { identity: { subject: "bench" }, exportName: "widgets", apis: [{ name: WIDGETS }] },
  }, FIELD_MANAGERS.gateway);
}
