import { LEASES } from "../common/api/resources.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { boundaryName, FIELD_MANAGERS, grantName } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { median, timed } from "./figure.ts";
import { type GrowingProvider, subject } from "./growing_provider.ts";
import { consumerUid, EXPORT, grantFor, leaseFor } from "./samples.ts";

/** Enough to keep two cores busy: with 8, the API server used half of them. */
const CONSUMERS = 32;
const WARM_UP_SECONDS = 0.5;
const TURNS = 3;

/** The renewals per second, and the time of each. */
export interface Heartbeats {
  readonly perSecond: number;
  readonly times: readonly number[];
}

/**
 * Renews Leases as fast as possible for some seconds: with the consumers' accounts, whose rights
 * the API server finds among those of all Grants, and in turns as an administrator.
 */
export async function heartbeats(
  provider: GrowingProvider,
  seconds: number,
): Promise<{ own: Heartbeats; admin: Heartbeats }> {
  await using stack = new AsyncDisposableStack();
  const consumers = Array.from({ length: Math.min(CONSUMERS, provider.size.grants) });
  const own = await Promise.all(consumers.map(async (_, i) => {
    const boundary = boundaryName(subject(i));
    const account = grantName(EXPORT, subject(i));
    const kubeconfig = await provider.plane.kubeconfigForServiceAccount(boundary, account);
    return stack.use(await connect(kubeconfig)).kube;
  }));
  const admin = own.map(() => provider.kube);
  await renew(own, WARM_UP_SECONDS);
  const turns: { own: Heartbeats; admin: Heartbeats }[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    turns.push({ own: await renew(own, seconds), admin: await renew(admin, seconds) });
  }
  return {
    own: combined(turns.map((turn) => turn.own)),
    admin: combined(turns.map((turn) => turn.admin)),
  };
}

/** Returns the median rate, and the times of all turns. */
const combined = (turns: readonly Heartbeats[]): Heartbeats => ({
  perSecond: median(turns.map(({ perSecond }) => perSecond)),
  times: turns.flatMap(({ times }) => times),
});

async function renew(clients: readonly KubeClient[], seconds: number): Promise<Heartbeats> {
  const times: number[] = [];
  const tookMs = await timed(async () => {
    const end = performance.now() + seconds * 1_000;
    await Promise.all(clients.map(async (kube, i) => {
      while (performance.now() < end) {
        const lease = leaseFor(grantFor(subject(i)), consumerUid(i));
        times.push(await timed(() => kube.apply(LEASES, lease, FIELD_MANAGERS.cli)));
      }
    }));
  });
  return { perSecond: times.length / tookMs * 1_000, times };
}
