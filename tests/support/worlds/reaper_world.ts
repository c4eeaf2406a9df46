import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { IAM_API_VERSION } from "../../../common/api/groups.ts";
import {
  type Condition,
  type Conditioned,
  type Grant,
  GRANTS,
  type KubeObject,
  type Lease,
  LEASES,
  type Namespace,
  NAMESPACES,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { installCrds } from "../../../common/kube/crds.ts";
import { isConflict, isNotFound } from "../../../common/kube/kube_error.ts";
import {
  ANNOTATIONS,
  boundaryName,
  FIELD_MANAGERS,
  heartbeatLeaseName,
  identityHash,
  LABELS,
} from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { allowUser } from "../planes/allow_user.ts";
import { connect, type Connected } from "../planes/kube.ts";
import { removeGrant } from "../planes/remove_grant.ts";
import { requestsDuring } from "../planes/requests_during.ts";
import { type ReaperFlags, startTestReaper, type TestReaper } from "./test_reaper.ts";

const TEST_LABEL = "reaper-test";
const IAM = ["iam.xbind.io"];

/** The documented rights of a reaper, and nothing more. */
const REAPER_RULES = [
  { apiGroups: IAM, resources: ["grants"], verbs: ["get", "list", "watch", "patch", "delete"] },
  { apiGroups: IAM, resources: ["grants/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "patch", "delete"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch"] },
];

/** How a Grant differs from a usual one. */
export interface GrantSample {
  /** Whose it is; the same word is the same identity. */
  readonly who?: string;
  readonly exportName?: string;
  readonly readyAtMs?: number;
  readonly annotations?: Record<string, string>;
  readonly finalizers?: string[];
}

/** How a heartbeat differs from a usual one. */
export interface Beat {
  readonly renewTimeMs?: number;
  readonly connection?: string;
  readonly namespace?: string;
}

/** RFC 3339 in whole seconds. */
export const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** One test's Grants, boundaries and consumers on a provider, and the reapers over them. */
export class ReaperWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** The user as whom the reapers speak. */
  readonly reaperUser: string;
  readonly #id: string;
  readonly #admin: Connected;
  readonly #reaper: Connected;
  readonly #reapers: TestReaper[] = [];

  private constructor(plane: ControlPlane, id: string, admin: Connected, reaper: Connected) {
    this.plane = plane;
    this.reaperUser = userOf(id);
    this.#id = id;
    this.#admin = admin;
    this.#reaper = reaper;
  }

  static async start(plane: ControlPlane): Promise<ReaperWorld> {
    const id = crypto.randomUUID().slice(0, 8);
    const admin = await connect(plane);
    const log = createLogger({
      encoder: "json",
      level: "error",
      stacktraceLevel: "panic",
      timeEncoding: "rfc3339",
    });
    const deps = { kube: admin.kube, log, version: "0.0.0" };
    await installCrds(deps, serviceCrds(), AbortSignal.timeout(30_000));
    await allowUser(plane, userOf(id), REAPER_RULES);
    const reaper = await connect(await plane.kubeconfigFor(userOf(id)));
    await mayList(reaper.kube);
    return new ReaperWorld(plane, id, admin, reaper);
  }

  /** Issuer, gateway and consumers, all in one. */
  get kube(): KubeClient {
    return this.#admin.kube;
  }

  subject(who: string): string {
    return `reaper-test#${this.#id}-${who}`;
  }

  /** A Grant that its issuer marked Ready, and its boundary. */
  async grant(sample: GrantSample = {}): Promise<Grant> {
    const { who = "ada", exportName = "pg", readyAtMs = Date.now() } = sample;
    const subject = this.subject(who);
    await this.boundary(who);
    const created = await this.kube.create(
      GRANTS,
      {
        apiVersion: IAM_API_VERSION,
        kind: "Grant",
        metadata: {
          name: `${exportName}-${identityHash(subject)}`,
          labels: { [TEST_LABEL]: this.#id },
          annotations: sample.annotations ?? {},
          finalizers: sample.finalizers ?? [],
        },
        spec: { identity: { subject }, exportName, apis: [{ name: "widgets.example.org" }] },
      },
      FIELD_MANAGERS.gateway,
    );
    await this.setReady(created, { lastTransitionTime: seconds(readyAtMs) });
    return created;
  }

  /** Applies the Ready condition as the issuer does. */
  async setReady(grant: Grant, edit: Partial<Condition> = {}): Promise<Conditioned> {
    const ready: Condition = {
      type: "Ready",
      status: "True",
      reason: "AsExpected",
      message: "",
      lastTransitionTime: seconds(Date.now()),
      observedGeneration: grant.metadata.generation ?? 0,
      ...edit,
    };
    const { apiVersion, kind, metadata: { name } } = grant;
    return await this.kube.applyStatus<KubeObject & Conditioned>(
      GRANTS,
      { apiVersion, kind, metadata: { name }, status: { conditions: [ready] } },
      FIELD_MANAGERS.issuer,
    );
  }

  /** The boundary namespace as the issuer makes it. */
  async boundary(who: string, annotations?: Record<string, string>): Promise<Namespace> {
    const subject = this.subject(who);
    const labels = {
      [LABELS.managed]: "true",
      [LABELS.identity]: identityHash(subject),
      [TEST_LABEL]: this.#id,
    };
    const metadata = { name: boundaryName(subject), labels, ...(annotations && { annotations }) };
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata };
    return await this.kube.apply(NAMESPACES, namespace, FIELD_MANAGERS.issuer);
  }

  /** Renews a heartbeat as a konnector does. */
  async beat(grant: Grant, beat: Beat = {}): Promise<Lease> {
    const consumerUid = "0123456789-consumer";
    const connection = beat.connection ?? grant.metadata.name;
    const lease: Lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: heartbeatLeaseName(connection, consumerUid),
        namespace: beat.namespace ?? boundaryName(grant.spec.identity.subject),
        labels: { [LABELS.managed]: "true" },
        annotations: {
          [ANNOTATIONS.connection]: connection,
          [ANNOTATIONS.consumerClusterUid]: consumerUid,
        },
      },
      spec: {
        holderIdentity: consumerUid,
        leaseDurationSeconds: 60,
        renewTime: new Date(beat.renewTimeMs ?? Date.now()).toISOString().replace("Z", "000Z"),
      },
    };
    return await this.kube.apply(LEASES, lease, FIELD_MANAGERS.cli);
  }

  /** Beats until it is disposed; like a konnector it tries again when a beat fails. */
  beating(grant: Grant, everyMs: number, beat: () => Beat = () => ({})): AsyncDisposable {
    let isStopped = false;
    const running = (async () => {
      while (!isStopped) {
        await this.beat(grant, beat()).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    })();
    return {
      [Symbol.asyncDispose]: async () => {
        isStopped = true;
        await running;
      },
    };
  }

  /** The Grant as it is stored; undefined once it is gone. */
  async stored({ metadata: { name } }: Grant): Promise<Grant | undefined> {
    return await this.kube.find(GRANTS, { name });
  }

  /** Merge-patches a Grant's annotations as the gateway does. */
  async annotate(grant: Grant, annotations: Record<string, string>): Promise<void> {
    const { name } = grant.metadata;
    const { metadata: { resourceVersion = "" } } = await this.kube.get(GRANTS, { name });
    const patch = { metadata: { resourceVersion, annotations } };
    await this.kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.gateway);
  }

  /** A reaper over this world's Grants; it ends with the world. */
  async reaper(flags: ReaperFlags = {}, kube = this.#reaper.kube): Promise<TestReaper> {
    const reaper = await startTestReaper(kube, `${TEST_LABEL}=${this.#id}`, flags);
    this.#reapers.push(reaper);
    return reaper;
  }

  /** Waits until a reaper's caches hold the present version of everything. */
  async upToDate({ deps: { caches: { grants, heartbeats } } }: TestReaper): Promise<void> {
    await eventually("the caches are up to date", async () => {
      const live = await this.#grants();
      const known = [...grants.values()];
      if (known.length !== live.length) return false;
      for (const { metadata, spec } of live) {
        if (!sameVersion(metadata, grants.get(metadata)?.metadata)) return false;
        const namespace = boundaryName(spec.identity.subject);
        for (const lease of await this.kube.list(LEASES, { namespace })) {
          if (!sameVersion(lease.metadata, heartbeats.get(lease.metadata)?.metadata)) return false;
        }
      }
      return true;
    });
  }

  /** What the reapers asked of the API server while something ran, their watches aside. */
  async reaperRequests(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    const reaper = { kube: this.#reaper.kube, user: this.reaperUser };
    return await requestsDuring(this.plane, reaper, run);
  }

  /** A client whose rights are these instead of the reaper's. */
  async limited(rules: object[]): Promise<Connected> {
    const user = `${this.reaperUser}-limited`;
    await allowUser(this.plane, user, rules);
    const limited = await connect(await this.plane.kubeconfigFor(user));
    await mayList(limited.kube);
    return limited;
  }

  async #grants(): Promise<Grant[]> {
    return await this.kube.list(GRANTS, { labelSelector: `${TEST_LABEL}=${this.#id}` });
  }

  /** Stops the reapers and removes what the test made. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const reaper of this.#reapers) await reaper[Symbol.asyncDispose]();
    for (const { metadata: { name } } of await this.#grants()) await removeGrant(this.kube, name);
    const selection = { labelSelector: `${TEST_LABEL}=${this.#id}` };
    for (const { metadata: { name } } of await this.kube.list(NAMESPACES, selection)) {
      await this.kube.delete(NAMESPACES, { name }).catch(unlessGone);
    }
    const users = [this.reaperUser, `${this.reaperUser}-limited`];
    for (const kind of ["clusterrolebinding", "clusterrole"]) {
      await this.plane.kubectl(["delete", "--ignore-not-found", kind, ...users]);
    }
    this.#admin[Symbol.dispose]();
    this.#reaper[Symbol.dispose]();
  }
}

const userOf = (id: string): string => `reaper-test-${id}`;

/** A reaper may have begun to delete it. */
const unlessGone = (error: unknown): void => {
  if (!isNotFound(error) && !isConflict(error)) throw error;
};

const sameVersion = (a: KubeObject["metadata"], b: KubeObject["metadata"] | undefined): boolean =>
  a.resourceVersion === b?.resourceVersion;

/** A new role takes effect a moment after it was written. */
const mayList = (kube: KubeClient): Promise<true> =>
  eventually("the user may list Grants", () => kube.list(GRANTS).then(() => true));
