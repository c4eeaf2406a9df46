import type { ControlPlaneOptions } from "../scripts/controlplane/control_plane.ts";
import { GRANTS, isReady } from "../common/api/resources.ts";
import { keyOf } from "../common/kube/paths.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { apiRequestsDuring, isWrite } from "./api_requests.ts";
import { type Figure, ms, timed } from "./figure.ts";
import { type IssuerWorld, startIssuerWorld } from "./issuer_world.ts";
import { EXPORT, FAST_TOKENS, grantFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const GOAL_PER_SECOND = 40;
const GOAL_BIND_MS = 2_000;
const never = new AbortController().signal;

/** Measures how fast many Grants are provisioned and revoked, and a bind meanwhile. */
export async function* benchProvisioning({ sized, progress }: Run): AsyncGenerator<Figure> {
  const count = sized(200, 1_000);
  const fast = { controllerManager: FAST_TOKENS };
  yield* burst("controller manager at 500 requests/s", fast, count, progress, GOAL_PER_SECOND);
  const fewer = sized(50, 1_000);
  yield* burst("controller manager at its defaults", {}, fewer, progress);
}

/** Creates many Grants at once, binds in the middle of them, and revokes all. */
async function* burst(
  label: string,
  options: ControlPlaneOptions,
  count: number,
  progress: (text: string) => void,
  goalPerSecond?: number,
): AsyncGenerator<Figure> {
  progress(`${count} Grants at once, ${label}`);
  await using world = await startIssuerWorld(options);
  const { kube, grants, backend } = world;
  if (goalPerSecond) yield await requestsOfOneBind(world);
  const wanted = Array.from({ length: count }, (_, i) => grantFor(`burst-${i}`));
  const token = await backend.sessions.seal("somebody-waits");
  const start = performance.now();
  const ready = wanted.map((grant) => grants.waitFor(keyOf(grant), isReady, never));
  await Promise.all(wanted.map((grant) => kube.create(GRANTS, grant, FIELD_MANAGERS.gateway)));
  await Promise.any(ready); // in the middle, when some Grants wait for tokens
  const readyBefore = [...grants.values()].filter(isReady).length;
  const bindStart = performance.now();
  const bindMs = await timed(() => backend.bind(token, EXPORT));
  await Promise.all(ready);
  const [now, errors] = [performance.now(), errorLines(world)];
  const rate = count / (now - start) * 1000;
  yield {
    name: `${count} Grants at once, ${label}`,
    measured: `${rate.toFixed(1)}/s, ${errors} error lines`,
    comparedTo: "all cores shared with the control plane",
    goal: goalPerSecond ? `≥ ${goalPerSecond}/s, 0 error lines` : "0 error lines",
    met: errors === 0 && rate >= (goalPerSecond ?? 0),
  };
  yield {
    name: "a bind meanwhile",
    measured: ms(bindMs),
    comparedTo: `the backlog of ${count - readyBefore} took ${ms(now - bindStart)}`,
    goal: `≤ ${GOAL_BIND_MS / 1000} s`,
    met: bindMs <= GOAL_BIND_MS,
  };
  if (goalPerSecond) yield await revocation(world, wanted.map(keyOf), progress);
}

/** Counts the API requests of one consumer's bind and pickup. */
async function requestsOfOneBind({ plane, backend }: IssuerWorld): Promise<Figure> {
  const token = await backend.sessions.seal("counted");
  const asked = await apiRequestsDuring(plane, backend.user, async () => {
    await backend.pickUp(await backend.bind(token, EXPORT));
  });
  const writes = asked.filter(isWrite).length;
  return {
    name: "API requests of one bind of a new identity and its pickup",
    measured: `${writes} writes, ${asked.length - writes} reads`,
    comparedTo: "the API server's own record",
    goal: "(information)",
  };
}

async function revocation(
  { kube, grants, ...world }: IssuerWorld,
  keys: readonly ReturnType<typeof keyOf>[],
  progress: (text: string) => void,
): Promise<Figure> {
  progress(`revoking ${keys.length} Grants`);
  const tookMs = await timed(async () => {
    await Promise.all(keys.map((key) => kube.delete(GRANTS, key)));
    await Promise.all(keys.map((key) => grants.waitForAbsence(key, undefined, never)));
  });
  const rate = keys.length / tookMs * 1000;
  return {
    name: `${keys.length} Grants revoked at once`,
    measured: `${rate.toFixed(1)}/s, ${errorLines(world)} error lines`,
    comparedTo: "at least six deletions and a patch each, all cores shared with the control plane",
    goal: "0 error lines",
    met: errorLines(world) === 0,
  };
}

const errorLines = ({ backend }: Pick<IssuerWorld, "backend">): number =>
  backend.backend.log.filter(({ level }) => level === "error").length;
