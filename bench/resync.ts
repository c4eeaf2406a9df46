import { auditEvents } from "../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { issuerCaches } from "../server/issuer/issued_caches.ts";
import { exportCache, grantCache } from "../server/provider/caches.ts";
import { issuer } from "../server/issuer/issuer.ts";
import { runCaches } from "../server/provider/caches.ts";
import { createLogger } from "../common/log/log.ts";
import { createMetrics } from "../common/control/metrics.ts";
import { all } from "../common/time/runnable.ts";
import { connect } from "../tests/support/planes/kube.ts";
import type { Figure } from "./figure.ts";

const RESYNC_MS = 3_000;
const RESYNCS = 3;
const RECONCILED =
  /^controller_runtime_reconcile_total\{controller="grant",result="success"\} (\d+)/m;

/** Resyncs an issuer several times, and counts its writes. */
export async function benchResync(plane: ControlPlane, count: number): Promise<Figure> {
  const user = `resync-${crypto.randomUUID().slice(0, 8)}`;
  using connected = await connect(await plane.kubeconfigFor(user, ["system:masters"]));
  const { kube } = connected;
  const caches = issuerCaches({ grants: grantCache(), exports: exportCache() });
  const metrics = createMetrics({ version: "bench" });
  const log = createLogger({
    encoder: "json",
    level: "error",
    stacktraceLevel: "panic",
    timeEncoding: "iso8601",
  });
  const stop = new AbortController();
  const running = all(
    runCaches(Object.values(caches), kube),
    issuer({
      kube,
      caches,
      config: { issuerScope: "Cluster", authorizationRevoke: false },
      recordEvent: () => {},
      metrics,
      log,
      now: Date.now,
      resyncMs: RESYNC_MS,
    }),
  )(stop.signal);
  const reconciles = async () => Number(RECONCILED.exec(await metrics.text())?.[1]);
  // One reconcile at the start, then one for each resync.
  while (!(await reconciles() >= count * (RESYNCS + 1))) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  stop.abort();
  await running;
  const asked = await auditEvents(plane, ({ user: { username } }) => username === user);
  const writes = asked.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
  return {
    name: `${RESYNCS} resyncs of ${count} Grants`,
    measured: `${writes.length} mutating requests`,
    comparedTo: `${await reconciles()} reconciles`,
    goal: "0",
    met: writes.length === 0,
  };
}
