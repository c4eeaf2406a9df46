import { ControlPlane, type ControlPlaneOptions } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CRDS, EXPORTS, type Grant, GRANTS, isReady } from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { wholeObjects } from "../common/kube/follow.ts";
import { keyOf } from "../common/kube/paths.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { connect, running } from "../tests/support/planes/kube.ts";
import { BenchBackend, type BenchBackendOptions } from "./bench_backend.ts";
import { COG_CRD, EXPORT, exportFor, grantFor } from "./samples.ts";

/** A provider with a running issuer and a watch on its Grants. */
export interface IssuerWorld extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kube: KubeClient;
  readonly grants: Cache<Grant>;
  /** The backend, which ends with the world. */
  readonly backend: BenchBackend;
  /** Ends the backend earlier. */
  stopBackend(): Promise<void>;
}

/** Starts a provider and a backend, and waits until the first Grant is issued. */
export async function startIssuerWorld(
  options: ControlPlaneOptions,
  backendOptions: BenchBackendOptions = {},
): Promise<IssuerWorld> {
  await using stack = new AsyncDisposableStack();
  const plane = stack.use(await ControlPlane.start({ name: "bench", auditLog: true, ...options }));
  const { kube } = stack.use(await connect(plane, { maxInFlight: 100 }));
  const started = stack.use(new AsyncDisposableStack());
  const backend = started.use(await BenchBackend.start(plane, backendOptions));
  await backend.ready();
  await kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
  await kube.apply(EXPORTS, exportFor(EXPORT), FIELD_MANAGERS.cli);
  const grants = new Cache(wholeObjects(GRANTS));
  stack.use(await running(grants, kube));
  // The API server delays creations for 2 s after a CRD is installed. Do not measure that.
  const warmUp = grantFor("warm-up");
  await kube.create(GRANTS, warmUp, FIELD_MANAGERS.gateway);
  await grants.waitFor(keyOf(warmUp), isReady, AbortSignal.timeout(30_000));
  await eventually("the Export is Ready", async () => {
    return isReady(await kube.get(EXPORTS, { name: EXPORT }));
  });
  const kept = stack.move();
  return {
    plane,
    kube,
    grants,
    backend,
    stopBackend: () => started.disposeAsync(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
