import { CONSUMER_NAMESPACE } from "../common/api/names.ts";
import { LOGGING_FLAGS, managerFlags } from "../common/flags/common_flags.ts";
import { duration, durationOrZero, list, oneOf, text } from "../common/flags/flag_kinds.ts";
import { carriedKey, clusterName, namespace } from "../common/flags/flag_values.ts";
import { relatedException } from "./related/never_copied.ts";

const CONNECTIONS = {
  "secret-namespaces": list(
    CONSUMER_NAMESPACE,
    "Namespaces whose Secrets Connections may name",
    namespace,
  ),
  "cluster-name": text(
    "",
    "Name of this cluster for people; by default the first block of its UID",
    clusterName,
  ),
  "related-allow": list(
    "",
    "Protected namespaces and types of Secrets that related resources may use, such as " +
      "namespace:kube-public or type:helm.sh/release.v1",
    relatedException,
  ),
} as const;

const OBJECTS = {
  "carry-labels": list(
    "",
    "Labels of objects that their copies get too, as in team,example.org/*",
    carriedKey,
  ),
  "carry-annotations": list("", "Annotations of objects that their copies get too", carriedKey),
  "leftovers": oneOf(
    ["report", "delete"],
    "What to do about copies on the provider that have no object on this cluster",
  ),
  "leftovers-interval": duration(
    "1m",
    "Time between two checks for such copies; the second check confirms a copy",
  ),
  "unbind-timeout": durationOrZero(
    "10m",
    "How long an unbind waits for an unreachable provider before it leaves the copies there; 0 means forever",
  ),
} as const;

const MANAGER = managerFlags({
  cluster: "consumer",
  metricsAddress: ":8085",
  probeAddress: ":8081",
  servedIf: "",
  led: "the konnector's controllers",
  leaseName: "konnector.xbind.io",
});

/** Groups the flags under the headings of the help and docs/flags.md. */
export const FLAG_GROUPS = {
  Connections: CONNECTIONS,
  "Synced objects": OBJECTS,
  "Cluster and manager": MANAGER,
  Logging: LOGGING_FLAGS,
} as const;

/** Lists every flag once: parsing, `--help`, docs/flags.md and `Config` come from this table. */
export const FLAGS = { ...CONNECTIONS, ...OBJECTS, ...MANAGER, ...LOGGING_FLAGS } as const;
