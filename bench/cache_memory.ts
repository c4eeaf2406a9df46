import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { CONFIG_MAPS, NAMESPACES } from "../common/api/resources.ts";
import { KubeClient } from "../common/kube/client.ts";
import { loadTarget } from "../common/kube/load_target.ts";
import { Transport } from "../common/kube/transport.ts";
import { ANNOTATIONS, LABELS } from "../common/api/names.ts";
import { DAEMON_RUN_FLAGS } from "../scripts/run_flags.ts";
import type { Figure } from "./figure.ts";
import type { Run } from "./scenario.ts";

/** The report of the measuring process. */
export interface CacheMemory {
  readonly objects: number;
  readonly syncMs: number;
  readonly residentBytes: number;
}

/** Goals by number of objects. */
const GOALS: Record<number, { readonly megabytes: number; readonly seconds?: number }> = {
  10_000: { megabytes: 40, seconds: 1 },
  100_000: { megabytes: 200 },
};

/** Measures the time and memory of a metadata cache of each size, in its own process. */
export async function* benchCacheMemory({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({ name: "bench", controllerManager: false });
  const kubeconfig = plane.adminKubeconfig;
  const sizes = [sized(10_000, 10_000), ...(full ? [sized(100_000, 100_000)] : [])];
  let present = 0;
  for (const size of sizes) {
    progress(`creating ${size - present} objects`);
    await createObjects(kubeconfig, present, size);
    present = size;
    progress(`caching ${size} objects`);
    const { objects, syncMs, residentBytes } = await measureInOwnProcess(kubeconfig);
    if (objects !== size) throw new Error(`the cache holds ${objects} of ${size} objects`);
    const megabytes = residentBytes / 1e6;
    const goal = GOALS[size];
    const fits = goal &&
      megabytes <= goal.megabytes && syncMs <= (goal.seconds ?? Infinity) * 1000;
    yield {
      name: `cache of ${size} metadata objects`,
      measured: `${megabytes.toFixed(0)} MB, ${(syncMs / 1000).toFixed(2)} s`,
      comparedTo: "the same process without them",
      goal: goal
        ? `≤ ${goal.megabytes} MB${goal.seconds ? `, ≤ ${goal.seconds} s` : ""}`
        : "(information)",
      ...(fits === undefined ? {} : { met: fits }),
    };
  }
}

async function createObjects(kubeconfig: string, from: number, to: number): Promise<void> {
  const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
  using transport = new Transport(target, { userAgent: "xbind-bench" });
  const kube = new KubeClient(transport);
  const namespaces = Array.from({ length: 10 }, (_, i) => `bench-${i}`);
  for (const name of namespaces) {
    await kube.apply(
      NAMESPACES,
      { apiVersion: "v1", kind: "Namespace", metadata: { name } },
      "xbind-cli",
    );
  }
  let next = from;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < to) {
      const i = next++;
      const metadata = {
        name: `object-${i}`,
        namespace: namespaces[i % namespaces.length] ?? "",
        labels: { [LABELS.managed]: "true", app: "bench" },
        annotations: {
          [ANNOTATIONS.consumerClusterUid]: `11111111-2222-3333-4444-55555555555${i % 10}`,
          [ANNOTATIONS.consumerObjectUid]: crypto.randomUUID(),
        },
      };
      const object = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata,
        data: { size: "s" },
      } as const;
      await kube.create(CONFIG_MAPS, object, "xbind-cli");
    }
  }));
}

async function measureInOwnProcess(kubeconfig: string): Promise<CacheMemory> {
  const child = new URL("./cache_memory_process.ts", import.meta.url).pathname;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...DAEMON_RUN_FLAGS, child, kubeconfig],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the measuring process failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}
