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

/** Limits of the controller manager with which it is not what is measured. */
export const FAST_TOKENS = { kubeApiQps: 500, kubeApiBurst: 1_000, concurrentTokenSyncs: 20 };

/** The API that is bound. */
export const API = "cogs.bench.example.org";
/** Where its objects live. */
export const COGS = customType(API);
/** Its definition. */
export const COG_CRD = crdFor(API, EXPORTED);
/** The Export that is bound. */
export const EXPORT = "service-0";

/** An Export with as many words as people write. */
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

/** A Grant as a bind makes it. */
export const grantFor = (subject: string, annotations: Record<string, string> = {}): Grant =>
  grantSample({
    subject,
    displayName: `Consumer ${subject}`,
    exportName: EXPORT,
    apis: [API],
    annotations,
    finalizers: [CLEANUP_FINALIZER],
  });

/** The UID of a consumer cluster. */
export const consumerUid = (i: number): string =>
  `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;

/** A heartbeat as a konnector writes it, but live for longer than any measurement takes. */
export const leaseFor = (grant: Grant, consumerUid: string, renewTimeMs = Date.now()): Lease =>
  leaseSample({
    connection: grant.metadata.name,
    namespace: boundaryName(grant.spec.identity.subject),
    consumerUid,
    renewTimeMs,
  }, { leaseDurationSeconds: 7_200 });

/** An object that a consumer synced. */
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
