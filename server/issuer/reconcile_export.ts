import { nextCondition } from "../../common/api/conditions.ts";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import { type Condition, type Export, EXPORTS, isDeleting } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { done, type Reconcile } from "../../common/control/controller.ts";
import type { Log } from "../../common/log/log.ts";
import { isExported } from "./issued_caches.ts";
import type { IssuerCaches } from "./issued_caches.ts";
import { openingsOf } from "./openings.ts";

/** Lists the dependencies of `reconcileExport`. */
export interface ExportDeps {
  readonly kube: KubeClient;
  readonly caches: Pick<IssuerCaches, "exports" | "crds">;
  readonly config: Pick<Config, "issuerScope">;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly now: () => number;
}

/** Updates the Ready condition of an Export when its CRDs change, and warns of excessive rights. */
export const reconcileExport = (deps: ExportDeps): Reconcile => async (name, signal) => {
  const { kube, caches, config, recordEvent, log, now } = deps;
  const offer = caches.exports.get({ name });
  if (!offer || isDeleting(offer)) return done;
  const missing = offer.spec.apis.map((api) => api.name).filter((api) => !isExported(caches, api));
  const opened = openingsOf(offer, config);
  const warnings = opened.map(({ warning }) => warning);
  const ready = readyCondition(offer, { missing, warnings }, new Date(now()));
  if (!ready) return done;
  try {
    const update = withCondition(name, ready);
    const written = await kube.applyStatus(EXPORTS, update, FIELD_MANAGERS.exports, signal);
    caches.exports.learn(written, FIELD_MANAGERS.exports);
  } catch (error) {
    if (isNotFound(error)) return done;
    throw error;
  }
  log.info("Export judged", { export: name, ready: ready.status, reason: ready.reason });
  if (ready.status === "False") recordEvent(offer, "Warning", ready.reason, ready.message);
  for (const { kind, warning } of opened) {
    log.warn(`Export opens ${kind}`, { export: name, warning });
    recordEvent(offer, "Warning", `Opens${kind}`, warning);
  }
  return done;
};

/** Holds the facts that decide the Ready condition of an Export. */
export interface Findings {
  /** Names the APIs whose CRD is missing or not labelled as exported. */
  readonly missing: readonly string[];
  /** Says which kinds its credentials open too widely. */
  readonly warnings?: readonly string[];
}

/**
 * Returns the condition to write, or undefined if the Export has it already. The message includes
 * the warnings, so a change of `--issuer-scope` updates every Export that it affects.
 */
export function readyCondition(
  offer: Export,
  { missing, warnings = [] }: Findings,
  now: Date,
): Condition | undefined {
  const status = missing.length === 0 ? "True" : "False";
  const reason = missing.length === 0 ? "AsExpected" : "APINotExported";
  const message = missing.length === 0
    ? ["All APIs can be bound", ...warnings].join(". ")
    : `These CRDs are missing or lack the label ${LABELS.exported}=true: ${missing.join(", ")}`;
  return nextCondition(offer, { type: "Ready", status, reason, message }, now);
}

const withCondition = (name: string, ready: Condition): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name },
  status: { conditions: [ready] },
} as unknown as Export);
