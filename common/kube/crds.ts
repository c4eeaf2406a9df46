import { createHash } from "node:crypto";
import { CRDS, type CustomResourceDefinition } from "../api/resources.ts";
import { providerFailed } from "../errors.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../api/names.ts";
import { deadline } from "../time/deadline.ts";
import type { Log } from "../log/log.ts";
import { Cache } from "./cache.ts";
import type { KubeClient } from "./client.ts";
import { wholeObjects } from "./follow.ts";
import { isForbidden } from "./kube_error.ts";

const ESTABLISHED_TIMEOUT_MS = 30_000;

/** Dependencies of `installCrds`. */
export interface CrdDeps {
  readonly kube: KubeClient;
  readonly log: Log;
  readonly version: string;
}

/**
 * Installs the CRDs of this version and waits until the API server serves them. Writes only CRDs
 * that differ, and leaves those of a newer version alone.
 */
export async function installCrds(
  deps: CrdDeps,
  crds: readonly CustomResourceDefinition[],
  signal: AbortSignal,
): Promise<void> {
  using limit = deadline(ESTABLISHED_TIMEOUT_MS, signal, notEstablished(crds));
  // Settle all of them before the deadline is disposed, so that none keeps waiting unseen.
  const outcomes = await Promise.allSettled(
    crds.map((crd) => installCrd(deps, crd, limit.signal)),
  );
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") continue;
    if (!isForbidden(outcome.reason)) throw outcome.reason;
    throw cannotInstall(crds, "this account may not do that", outcome.reason);
  }
}

async function installCrd(
  { kube, log, version }: CrdDeps,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<void> {
  const { name } = crd.metadata;
  const desired = withVersion(crd, version);
  const live = await kube.find(CRDS, { name }, signal);
  const liveVersion = live?.metadata.annotations?.[ANNOTATIONS.crdVersion];
  if (liveVersion !== undefined && isNewer(liveVersion, version)) {
    log.info("kept the CRD of a newer version", { crd: name, version: liveVersion });
    return;
  }
  if (!live || !contains(live, desired)) {
    await kube.apply(CRDS, desired, FIELD_MANAGERS.crds, signal);
    log.info("installed CRD", { crd: name, version });
  } else if (isEstablished(live)) return;
  await established(kube, name, signal);
}

/** Adds the version, and a digest that also changes when a field is dropped. */
function withVersion(crd: CustomResourceDefinition, version: string): CustomResourceDefinition {
  const digest = createHash("sha256").update(JSON.stringify(crd)).digest("hex").slice(0, 16);
  const annotations = {
    ...crd.metadata.annotations,
    [ANNOTATIONS.crdVersion]: version,
    [ANNOTATIONS.crdDigest]: digest,
  };
  return { ...crd, metadata: { ...crd.metadata, annotations } };
}

async function established(kube: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const watching = new AbortController();
  const cache = new Cache(wholeObjects(CRDS, { fieldSelector: `metadata.name=${name}` }));
  const run = cache.run(kube, watching.signal);
  try {
    await cache.waitFor({ name }, isEstablished, signal);
  } finally {
    watching.abort();
    await run;
  }
}

const isEstablished = (crd: CustomResourceDefinition): boolean =>
  crd.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ??
    false;

/** Returns whether `live` has every field of `wanted`. The API server adds defaults to it. */
export function contains(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length &&
      wanted.every((item, index) => contains(live[index], item));
  }
  if (typeof wanted !== "object" || wanted === null) return Object.is(live, wanted);
  if (typeof live !== "object" || live === null) return false;
  return Object.entries(wanted).every(([key, value]) =>
    contains((live as Record<string, unknown>)[key], value)
  );
}

/** Compares `major.minor.patch`. A pre-release is older than its release. */
export function isNewer(a: string, b: string): boolean {
  const [coreA = "", preA] = a.replace(/^v/, "").split("+")[0]?.split(/-(.*)/s) ?? [];
  const [coreB = "", preB] = b.replace(/^v/, "").split("+")[0]?.split(/-(.*)/s) ?? [];
  const numbersA = coreA.split(".").map(Number);
  const numbersB = coreB.split(".").map(Number);
  for (let i = 0; i < 3; i++) {
    const difference = (numbersA[i] || 0) - (numbersB[i] || 0);
    if (difference !== 0) return difference > 0;
  }
  if (preA === undefined || preB === undefined) return preA === undefined && preB !== undefined;
  return preA.localeCompare(preB, "en", { numeric: true }) > 0;
}

const notEstablished = (crds: readonly CustomResourceDefinition[]): Error =>
  cannotInstall(crds, `they are not established after ${ESTABLISHED_TIMEOUT_MS / 1000} s`);

const cannotInstall = (
  crds: readonly CustomResourceDefinition[],
  reason: string,
  cause?: unknown,
): Error =>
  providerFailed(
    `install the CRDs ${crds.map((crd) => crd.metadata.name).join(", ")}`,
    `${reason}; fix that, or install crds/ yourself and set --install-crds=false`,
    cause,
  );
