import { CATALOG_API_VERSION } from "../common/api/groups.ts";
import type { Export, Grant, KubeObject, Lease } from "../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, CLEANUP_FINALIZER, LABELS } from "../common/api/names.ts";
import {
  crdFor,
  customType,
  EXPORTED,
  grantFor as grantSample,
  leaseFor as leaseSample,
} from "../tests/support/planes/issuer_samples.ts";

/** Limits of the controller manager that are too high to slow a measurement. */
export const FAST_TOKENS = { kubeApiQps: 500, kubeApiBurst: 1_000, concurrentTokenSyncs: 20 };

/** The bound API. */
export const API = "cogs.bench.example.org";
/** The type of its objects. */
export const COGS = customType(API);
/** Its CRD. */
export const COG_CRD = crdFor(API, EXPORTED);
/** The bound Export. */
export const EXPORT = "service-0";

/** Returns an Export with texts of realistic length. */
export const exportFor = (name: string): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name },
  spec: {
    title: `The service ${name}`,
    description: "A service that stands in a catalog of many, described in about as many words " +
      "as people write: what it does, for whom, and what it costs.",
    docs: `https://docs.example.org/${name}`,
    apis: [{ name: API }],
  },
});

/** Returns a Grant as a bind creates it. */
export const grantFor = (subject: string, annotations: Record<string, string> = {}): Grant =>
  grantSample({
    subject,
    displayName: `Consumer ${subject}`,
    exportName: EXPORT,
    apis: [API],
    annotations,
    finalizers: [CLEANUP_FINALIZER],
  });

/** Returns the UID of a consumer cluster. */
export const consumerUid = (i: number): string =>
  `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;

/** Returns a heartbeat that stays live for longer than any measurement. */
export const leaseFor = (grant: Grant, consumerUid: string, renewTimeMs = Date.now()): Lease =>
  leaseSample({
    connection: grant.metadata.name,
    namespace: boundaryName(grant.spec.identity.subject),
    consumerUid,
    renewTimeMs,
  }, { leaseDurationSeconds: 7_200 });

/** Returns an object that a consumer synced. */
export const cogFor = (i: number, uid: string): KubeObject => ({
  apiVersion: `${COGS.group}/${COGS.version}`,
  kind: COGS.kind,
  metadata: {
    name: `cog-${i}`,
    namespace: "default",
    labels: { [LABELS.managed]: "true" },
    annotations: {
      [ANNOTATIONS.consumerClusterUid]: uid,
      [ANNOTATIONS.consumerObjectUid]: crypto.randomUUID(),
    },
  },
});
