import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
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
import { isConflict, isNotFound } from "../../../common/kube/kube_error.ts";
import { boundaryName, FIELD_MANAGERS, identityHash, LABELS } from "../../../common/api/names.ts";
import { type GrantSample, readyCondition, seconds } from "../planes/issuer_samples.ts";
import type { Connected } from "../planes/kube.ts";
import { removeGrant } from "../planes/remove_grant.ts";
import { requestsDuring } from "../planes/requests_during.ts";
import { type Beat, TestProvider } from "./provider.ts";
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
export type ReaperSample = GrantSample & { readonly readyAtMs?: number };

/** One test's Grants, boundaries and consumers on a provider, and the reapers over them. */
export class ReaperWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** The user as whom the reapers speak. */
  readonly reaperUser: string;
  readonly #id: string;
  readonly #provider: TestProvider;
  readonly #reaper: Connected;
  readonly #reapers: TestReaper[] = [];

  private constructor(provider: TestProvider, id: string, reaper: Connected) {
    this.plane = provider.plane;
    this.reaperUser = userOf(id);
    this.#id = id;
    this.#provider = provider;
    this.#reaper = reaper;
  }

  static async start(plane: ControlPlane): Promise<ReaperWorld> {
    const id = crypto.randomUUID().slice(0, 8);
    const provider = await TestProvider.of(plane);
    await provider.installCrds();
    const reaper = await provider.connectAs(userOf(id), REAPER_RULES);
    return new ReaperWorld(provider, id, reaper);
  }

  /** Issuer, gateway and consumers, all in one. */
  get kube(): KubeClient {
    return this.#provider.kube;
  }

  subject(who: string): string {
    return `reaper-test#${this.#id}-${who}`;
  }

  /** A Grant that its issuer marked Ready, and its boundary. */
  async grant({ readyAtMs = Date.now(), ...sample }: ReaperSample = {}): Promise<Grant> {
    const { who = "ada" } = sample;
    await this.boundary(who);
    const created = await this.#provider.grant({
      exportName: "pg",
      ...sample,
      subject: this.subject(who),
      labels: { [TEST_LABEL]: this.#id },
    });
    await this.setReady(created, { lastTransitionTime: seconds(readyAtMs) });
    return created;
  }

  /** Applies the Ready condition as the issuer does. */
  async setReady(grant: Grant, edit: Partial<Condition> = {}): Promise<Conditioned> {
    const ready = readyCondition(grant, edit);
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
    const metadata = { labels, ...(annotations && { annotations }) };
    return await this.#provider.makeNamespace(
      boundaryName(subject),
      metadata,
      FIELD_MANAGERS.issuer,
    );
  }

  /** Renews a heartbeat as a konnector does. */
  async beat(grant: Grant, beat: Beat = {}): Promise<Lease> {
    return await this.#provider.beat(grant, beat);
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
    return await this.#provider.connectAs(user, rules);
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
    await this.#provider.removeUsers(this.reaperUser, `${this.reaperUser}-limited`);
    this.#provider[Symbol.dispose]();
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
