import {
  type Grant,
  GRANTS,
  isDeleting,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ObjectMeta,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST } from "../../common/kube/metadata.ts";
import {
  ANNOTATIONS,
  boundaryName,
  boundaryNameOf,
  FIELD_MANAGERS,
  LABELS,
} from "../../common/api/names.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import { isApproved } from "./staleness.ts";

/** What `Boundaries` works with. */
export interface BoundariesDeps {
  readonly kube: KubeClient;
  readonly log: Log;
}

/**
 * Marks the boundaries of Grants that are being reaped, and deletes marked boundaries that have no
 * Grant left. It searches once for the marks of earlier processes, then remembers its own.
 */
export class Boundaries {
  readonly #deps: BoundariesDeps;
  #marked: Set<string> | undefined;
  /** Boundaries whose last Grant was reaped with an operator's approval. */
  readonly #approved = new Set<string>();

  constructor(deps: BoundariesDeps) {
    this.#deps = deps;
  }

  /** Marks the Grant's boundary for deletion. Leaves a namespace that is no boundary alone. */
  async mark(grant: Grant, signal: AbortSignal): Promise<void> {
    const { kube } = this.#deps;
    const name = boundaryName(grant.spec.identity.subject);
    const namespace = await kube.find(NAMESPACES, { name }, signal);
    if (!namespace || isDeleting(namespace) || !isBoundary(namespace)) return;
    if (isApproved(grant)) this.#approved.add(name);
    else this.#approved.delete(name);
    const uid = grant.metadata.uid ?? "";
    if (markOf(namespace) !== uid) await this.#annotate(namespace, uid, signal);
    this.#marked?.add(name);
  }

  /**
   * Deletes marked boundaries that, by live reads, have no Grant; returns how many. During a hold
   * it deletes only those whose approval this process saw.
   */
  async reap({ isHolding }: { readonly isHolding: boolean }, signal: AbortSignal): Promise<number> {
    if (isHolding && this.#approved.size === 0) return 0;
    this.#marked ??= await this.#findMarked(signal);
    const wanted = isHolding ? this.#marked.intersection(this.#approved) : this.#marked;
    if (wanted.size === 0) return 0;
    // Read the namespaces first: the issuer removes the mark only after the Grant exists. Either we
    // see the Grant, or the namespace is no longer the version that we read.
    const namespaces = await this.#stillMarked(wanted, signal);
    if (namespaces.length === 0) return 0;
    const inUse = await this.#inUse(signal);
    let deleted = 0;
    for (const namespace of namespaces) {
      const { name } = namespace.metadata;
      try {
        if (inUse.has(name)) await this.#annotate(namespace, null, signal);
        else if (await this.#delete(namespace, signal)) deleted++;
        this.#forget(name);
      } catch (error) {
        signal.throwIfAborted();
        if (isConflict(error)) continue; // it changed; the next sweep looks again
        this.#deps.log.error("cannot reap a boundary", { boundary: name, error });
      }
    }
    return deleted;
  }

  async #findMarked(signal: AbortSignal): Promise<Set<string>> {
    const marked = new Set<string>();
    let next = "";
    do {
      const page = await this.#deps.kube.listPage(
        NAMESPACES,
        { labelSelector: `${LABELS.managed}=true` },
        { next, accept: METADATA_LIST, signal },
      );
      for (const item of page.items as readonly { metadata: ObjectMeta }[]) {
        if (markOf(item) !== undefined && isBoundary(item)) marked.add(item.metadata.name);
      }
      next = page.continue;
    } while (next !== "");
    return marked;
  }

  #forget(name: string): void {
    this.#marked?.delete(name);
    this.#approved.delete(name);
  }

  async #stillMarked(names: Iterable<string>, signal: AbortSignal): Promise<Namespace[]> {
    const namespaces: Namespace[] = [];
    for (const name of [...names]) {
      const namespace = await this.#deps.kube.find(NAMESPACES, { name }, signal);
      const isMarked = namespace && !isDeleting(namespace) && isBoundary(namespace) &&
        markOf(namespace) !== undefined;
      if (isMarked) namespaces.push(namespace);
      else this.#forget(name);
    }
    return namespaces;
  }

  /** Returns the boundaries of all Grants that are not being deleted. */
  async #inUse(signal: AbortSignal): Promise<Set<string>> {
    const grants = await this.#deps.kube.list(GRANTS, {}, signal);
    return new Set(
      grants.filter((grant) => !isDeleting(grant))
        .map(({ spec }) => boundaryName(spec.identity.subject)),
    );
  }

  async #delete({ metadata }: Namespace, signal: AbortSignal): Promise<boolean> {
    const { name, annotations, uid = "", resourceVersion = "" } = metadata;
    try {
      await this.#deps.kube.delete(NAMESPACES, { name }, { uid, resourceVersion }, signal);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
    const grantUid = annotations?.[ANNOTATIONS.reapBoundary];
    const line = auditLine("boundary.reaped", "ok", { boundary: name, grantUid });
    this.#deps.log.info("boundary reaped", line);
    return true;
  }

  async #annotate(
    { metadata: { name, resourceVersion = "" } }: Namespace,
    value: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    const annotations = { [ANNOTATIONS.reapBoundary]: value };
    const patch = { metadata: { resourceVersion, annotations } };
    await this.#deps.kube.mergePatch(NAMESPACES, { name }, patch, FIELD_MANAGERS.reaper, signal);
  }
}

const markOf = ({ metadata }: Pick<KubeObject, "metadata">): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.reapBoundary];

/** Returns whether the issuer made the namespace; the name alone does not prove that. */
const isBoundary = ({ metadata: { name, labels } }: Pick<KubeObject, "metadata">): boolean =>
  labels?.[LABELS.managed] === "true" && name === boundaryNameOf(labels[LABELS.identity] ?? "");
