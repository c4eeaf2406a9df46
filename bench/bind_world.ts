import { ControlPlane, type ControlPlaneOptions } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CRDS, EXPORTS, isReady } from "../common/api/resources.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { BenchBackend } from "./bench_backend.ts";
import { COG_CRD, EXPORT, exportFor } from "./samples.ts";

/** A provider with one Ready Export and no running backend. */
export interface BindWorld extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kube: KubeClient;
}

/** Starts a provider, and runs a backend until its Export is Ready. */
export async function startBindWorld(options: ControlPlaneOptions): Promise<BindWorld> {
  await using stack = new AsyncDisposableStack();
  const plane = stack.use(await ControlPlane.start({ name: "bench", ...options }));
  const { kube } = stack.use(await connect(plane, { maxInFlight: 200 }));
  await using backend = await BenchBackend.start(plane);
  await backend.ready();
  await kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
  await kube.apply(EXPORTS, exportFor(EXPORT), FIELD_MANAGERS.cli);
  await eventually("the Export is Ready", async () => {
    return isReady(await kube.get(EXPORTS, { name: EXPORT }));
  });
  // The API server delays creations for 2 s after a CRD is installed. Do not measure that.
  await backend.bind(await backend.sessions.seal("warm-up"), EXPORT);
  const kept = stack.move();
  return { plane, kube, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
