/**
 * A leader in its own process. The arguments are a kubeconfig, a namespace and an identity. While
 * it leads, it keeps writing its identity to the ConfigMap `owner` through a guarded client.
 */
import { CONFIG_MAPS } from "../../../common/api/resources.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import { Leader } from "../../../common/kube/leader.ts";
import { loadTarget } from "../../../common/kube/load_target.ts";
import { Transport } from "../../../common/kube/transport.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import type { Runnable } from "../../../common/time/runnable.ts";
import { sleep } from "../../../common/time/wait.ts";
import { LEADER_TIMING } from "./leader_candidate.ts";

const [kubeconfig = "", namespace = "", identity = ""] = Deno.args;
const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
const transport = new Transport(target, { userAgent: `leader-test/${identity}` });
const log = createLogger({
  encoder: "json",
  level: "info",
  stacktraceLevel: "panic",
  timeEncoding: "epoch",
});
const leader = new Leader({
  kube: new KubeClient(transport),
  name: "leader",
  namespace,
  identity,
  log,
  timing: LEADER_TIMING,
});
const guarded = new KubeClient(transport, () => leader.assertLeading());
const owner = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "owner", namespace, labels: { leader: identity } },
};

const keepWriting: Runnable = async (signal) => {
  while (!signal.aborted) {
    await guarded.apply(CONFIG_MAPS, owner, FIELD_MANAGERS.issuer, signal);
    await sleep(20, signal); // due before the leader's timers after a SIGSTOP
  }
};

const stop = new AbortController();
Deno.addSignalListener("SIGTERM", () => stop.abort(new Error("SIGTERM")));
await leader.whileLeading(keepWriting)(stop.signal);
transport[Symbol.dispose]();
Deno.exit(0);
