import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { type Grant, GRANTS, LEASES, NAMESPACES } from "../common/api/resources.ts";
import type { Clusters } from "../common/api/wire.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { boundaryName, FIELD_MANAGERS } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { BenchBackend } from "./bench_backend.ts";
import type { Figure } from "./figure.ts";
import { consumerUid, grantFor, leaseFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const SUBJECT = "flood";
const WRITERS = 32;
/** The most Leases that the gateway holds of one boundary. */
const BOUND = 4_000;
const FLAGS = ["--enable-issuer=false", "--enable-reaper"];
const GOALS = { lagMs: 250, megabytes: 15 };

/** Measures what one tenant's flood of Leases costs a running and a starting process. */
export async function* benchHeartbeatFlood({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({ name: "bench", controllerManager: false });
  const flood = sized(20_000, 100_000);
  using admin = await connect(plane);
  await using watching = await BenchBackend.start(plane, { flags: FLAGS });
  await watching.ready();
  const grant = await offerTo(admin.kube);
  progress(`writing ${BOUND} Leases`);
  await writeLeases(admin.kube, grant, 0, BOUND);
  const atBound = await cost(watching, BOUND);
  progress(`writing ${flood - BOUND} more`);
  await writeLeases(admin.kube, grant, BOUND, flood);
  yield figure(`while one tenant writes ${flood} Leases`, await cost(watching, flood), atBound);
  progress("starting beside them");
  await using started = await BenchBackend.start(plane, { flags: FLAGS });
  await started.ready();
  yield figure(`a start beside ${flood} Leases`, await cost(started, flood), atBound);
}

interface Cost {
  readonly lagMs: number;
  readonly megabytes: number;
  readonly shown: number;
}

/** Waits until the process has seen all Leases, and measures its cost. */
async function cost(backend: BenchBackend, leases: number): Promise<Cost> {
  const token = await backend.sessions.seal("anybody");
  const clusters = await eventually("the process has seen all Leases", async () => {
    const answer = await fetch(`${backend.url}/api/clusters`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    const found: Clusters = await answer.json();
    const known = found.truncated?.[0]?.leases ?? found.clusters.length;
    return known === leases && found;
  }, { timeoutMs: 120_000, everyMs: 500 });
  return {
    lagMs: await backend.metric("xbind_event_loop_lag_seconds") * 1000,
    megabytes: await backend.metric("process_resident_memory_bytes") / 1e6,
    shown: clusters.clusters.length,
  };
}

const figure = (name: string, { lagMs, megabytes, shown }: Cost, atBound: Cost): Figure => {
  const more = megabytes - atBound.megabytes;
  return {
    name,
    measured: `event-loop lag ${lagMs.toFixed(0)} ms, ${more.toFixed(0)} MB more, ${shown} shown`,
    comparedTo: `${BOUND} Leases, which are all held: ${atBound.megabytes.toFixed(0)} MB`,
    goal: `≤ ${GOALS.lagMs} ms, ≤ ${GOALS.megabytes} MB more`,
    met: lagMs <= GOALS.lagMs && more <= GOALS.megabytes,
  };
};

async function offerTo(kube: KubeClient): Promise<Grant> {
  const metadata = { name: boundaryName(SUBJECT) };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata };
  await kube.create(NAMESPACES, namespace, FIELD_MANAGERS.installer);
  return await kube.create(GRANTS, grantFor(SUBJECT), FIELD_MANAGERS.gateway);
}

async function writeLeases(
  kube: KubeClient,
  grant: Grant,
  from: number,
  to: number,
): Promise<void> {
  let next = from;
  await Promise.all(Array.from({ length: WRITERS }, async () => {
    while (next < to) {
      const i = next++;
      const lease = leaseFor(grant, consumerUid(i));
      const metadata = { ...lease.metadata, name: `flood-${i}` };
      await kube.create(LEASES, { ...lease, metadata }, FIELD_MANAGERS.cli);
    }
  }));
}
