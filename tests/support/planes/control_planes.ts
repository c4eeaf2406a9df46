import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ControlPlane,
  type ControlPlaneOptions,
} from "../../../scripts/controlplane/control_plane.ts";
import { startControlPlanes } from "../../../scripts/controlplane/start_control_planes.ts";

/** The directory of the control planes that the test runner started for all test files. */
const PLANES_VARIABLE = "XBIND_TEST_PLANES";

/** Far above Kubernetes' own limits, so that tests do not queue behind each other. */
const FAST_CONTROLLER_MANAGER = {
  kubeApiQps: 500,
  kubeApiBurst: 1_000,
  concurrentTokenSyncs: 20,
};

type Role = "provider" | "consumer";

const optionsFor = (role: Role, dir?: string): ControlPlaneOptions => ({
  name: role,
  auditLog: true,
  controllerManager: FAST_CONTROLLER_MANAGER,
  ...(dir && { dir: join(dir, role) }),
});

/** The two control planes that all test files share, for as long as the test runner runs. */
export interface SharedPlanes extends AsyncDisposable {
  /** The variables with which a test process finds them. */
  env: Record<string, string>;
}

/** Boots the shared control planes; for the test runner. */
export const startSharedPlanes = async (): Promise<SharedPlanes> => {
  const dir = join(tmpdir(), `xbind-planes-${crypto.randomUUID().slice(0, 8)}`);
  const planes = await startControlPlanes([
    optionsFor("provider", dir),
    optionsFor("consumer", dir),
  ]);
  return {
    env: { [PLANES_VARIABLE]: dir },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(planes.map((plane) => plane[Symbol.asyncDispose]()));
    },
  };
};

const shared = new Map<Role, Promise<ControlPlane>>();

/** Attaches to the shared control plane; without a test runner, starts one for this test file. */
const sharedPlane = (role: Role): Promise<ControlPlane> => {
  const dir = Deno.env.get(PLANES_VARIABLE);
  const known = shared.get(role) ??
    (dir ? ControlPlane.attach(join(dir, role)) : ControlPlane.start(optionsFor(role)));
  shared.set(role, known);
  return known;
};

/** The provider that all tests share: use unique names, and do not stop its processes. */
export const sharedProvider = (): Promise<ControlPlane> => sharedPlane("provider");

/** The consumer that all tests share: use unique names, and do not stop its processes. */
export const sharedConsumer = (): Promise<ControlPlane> => sharedPlane("consumer");

/** Starts a control plane for one test, which may break it; hold it with `await using`. */
export const ownPlane = (options: ControlPlaneOptions = {}): Promise<ControlPlane> =>
  ControlPlane.start({ name: "own", controllerManager: FAST_CONTROLLER_MANAGER, ...options });
