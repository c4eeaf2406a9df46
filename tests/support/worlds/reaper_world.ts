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
import { beating } from "../planes/beating.ts";
import { type GrantSample, readyCondition, seconds } from "../planes/issuer_samples.ts";
import type { Connected } from "../planes/kube.ts";
import { removeGrant } from "../planes/remove_grant.ts";
import { requestsDuring } from "../planes/requests_during.ts";
import { type Beat, TestProvider } from "./provider.ts";
import { type ReaperFlags, startTestReaper, type TestReaper } from "./test_reaper.ts";

const TEST_LABEL = "reaper-test";
const IAM = ["iam.xbind.io"];

/** Only the documented rights of a reaper. */
const REAPER_RULES = [
  { apiGroups: IAM, resources: ["grants"], verbs: ["get", "list", "watch", "patch", "delete"] },
  { apiGroups: IAM, resources: ["grants/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "patch", "delete"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch"] },
];

/** The changes of a Grant to the default one. */
export type ReaperSample = GrantSample & { readonly readyAtMs?: number };

/** The Grants, boundaries and consumers of one test on a provider, and its reapers. */
export class ReaperWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** The reapers' user. */
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

  /** The client of the issuer, the gateway and the consumers. */
  get kube(): KubeClient {
    return this.#provider.kube;
  }

  subject(who: string): string {
    return `reaper-test#${this.#id}-${who}`;
  }

  /** Creates a Ready Grant and its boundary. */
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

  /** Creates the boundary as the issuer does. */
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

  /** Writes heartbeats until disposed, and retries a failed one as a konnector does. */
  beating(grant: Grant, everyMs: number, beat: () => Beat = () => ({})): AsyncDisposable {
    return beating(() => this.beat(grant, beat()).catch(() => {}), everyMs);
  }

  /** Reads the stored Grant, or undefined once it is deleted. */
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

  /** Starts a reaper of this world's Grants, which ends with the world. */
  async reaper(flags: ReaperFlags = {}, kube = this.#reaper.kube): Promise<TestReaper> {
    const reaper = await startTestReaper(kube, `${TEST_LABEL}=${this.#id}`, flags);
    this.#reapers.push(reaper);
    return reaper;
  }

  /** Waits until a reaper's caches are current. */
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

  /** Returns the reapers' requests to the API server during `run`, without watches. */
  async reaperRequests(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    const reaper = { kube: this.#reaper.kube, user: this.reaperUser };
    return await requestsDuring(this.plane, reaper, run);
  }

  /** Connects a client with these rights instead of the reaper's. */
  async limited(rules: object[]): Promise<Connected> {
    const user = `${this.reaperUser}-limited`;
    return await this.#provider.connectAs(user, rules);
  }

  async #grants(): Promise<Grant[]> {
    return await this.kube.list(GRANTS, { labelSelector: `${TEST_LABEL}=${this.#id}` });
  }

  /** Stops the reapers, and deletes the test's objects. */
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

/** Ignores an object that a reaper has begun to delete. */
const unlessGone = (error: unknown): void => {
  if (!isNotFound(error) && !isConflict(error)) throw error;
};

const sameVersion = (a: KubeObject["metadata"], b: KubeObject["metadata"] | undefined): boolean =>
  a.resourceVersion === b?.resourceVersion;
