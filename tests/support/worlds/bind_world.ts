import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import {
  type Condition,
  type Export,
  EXPORTS,
  type ExportSpec,
  type Grant,
  GRANTS,
  isDeleting,
  isReady,
  NAMESPACES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import type { BindDeps } from "../../../server/bind/bind.ts";
import { bindSlots } from "../../../server/bind/slots.ts";
import type { Identity } from "../../../common/api/wire.ts";
import { Cache } from "../../../common/kube/cache.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../../common/kube/kube_error.ts";
import { boundaryName, FIELD_MANAGERS, tokenSecretName } from "../../../common/api/names.ts";
import { exportFor, readyCondition, WIDGETS } from "../planes/issuer_samples.ts";
import { running } from "../planes/kube.ts";
import { removeGrant } from "../planes/remove_grant.ts";
import { TestProvider } from "./provider.ts";

/** The Exports, users and Grants of one test on a provider, with a small issuer that can pause. */
export class BindWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** The gateway's cache of Grants. */
  readonly grants = new Cache(wholeObjects(GRANTS));
  readonly #id = crypto.randomUUID().slice(0, 8);
  readonly #provider: TestProvider;
  readonly #stack = new AsyncDisposableStack();
  readonly #work = new Set<Promise<void>>();
  #isIssuing = true;

  private constructor(provider: TestProvider) {
    this.plane = provider.plane;
    this.#provider = provider;
  }

  static async start(plane: ControlPlane): Promise<BindWorld> {
    const provider = await TestProvider.of(plane);
    await provider.installCrds();
    const world = new BindWorld(provider);
    world.#stack.use(await running(world.grants, world.kube));
    // The issuer has its own cache, as in another process.
    const seen = new Cache(wholeObjects(GRANTS));
    seen.onChange(({ after }) => {
      if (after && world.#isIssuing) world.#issueInBackground(after);
    });
    world.#stack.use(await running(seen, world.kube));
    return world;
  }

  get kube(): KubeClient {
    return this.#provider.kube;
  }

  /** Returns the dependencies of a bind, some of them replaced. */
  deps(edit: Partial<BindDeps> = {}): BindDeps {
    return {
      kube: this.kube,
      caches: { grants: this.grants },
      config: { pickupTtlMs: 300_000 },
      now: () => new Date(),
      slots: bindSlots(),
      ...edit,
    };
  }

  identity(who = "ada"): Identity {
    return { subject: `binding-test#${this.#id}-${who}`, displayName: who, groups: ["dev", who] };
  }

  /** Creates a Ready Export. */
  async export(name: string, spec: Partial<ExportSpec> = {}): Promise<string> {
    const created = await this.#provider.offer(`${name}-${this.#id}`, [WIDGETS], {
      title: name,
      ...spec,
    });
    await this.setExportReady(created);
    return created.metadata.name;
  }

  /** Replaces the spec of an Export, and makes it Ready again. */
  async changeExport(name: string, spec: Partial<ExportSpec>): Promise<void> {
    const found = await this.kube.get(EXPORTS, { name });
    const changed = { ...found, spec: exportFor(name, [WIDGETS], spec).spec };
    await this.setExportReady(await this.kube.update(EXPORTS, changed, FIELD_MANAGERS.installer));
  }

  async setExportReady(found: Export, status: Condition["status"] = "True"): Promise<void> {
    await this.#provider.judge(found, status);
  }

  async grant(name: string): Promise<Grant> {
    return await this.kube.get(GRANTS, { name });
  }

  /** Pauses the issuer until `release`. */
  async hold(): Promise<void> {
    this.#isIssuing = false;
    await Promise.all(this.#work);
  }

  /** Resumes the issuer, which also issues the Grants of the pause. */
  async release(): Promise<void> {
    this.#isIssuing = true;
    for (const grant of await this.kube.list(GRANTS)) this.#issueInBackground(grant);
  }

  /** Makes a Grant Ready as the issuer does, but without RBAC. */
  async issue({ apiVersion, kind, metadata, spec }: Grant): Promise<void> {
    const { name } = metadata;
    const namespace = boundaryName(spec.identity.subject);
    await this.kube.create(
      NAMESPACES,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
      FIELD_MANAGERS.issuer,
    ).catch((error) => assert.ok(isAlreadyExists(error), String(error)));
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
    await this.kube.apply(SERVICE_ACCOUNTS, account, FIELD_MANAGERS.issuer);
    const annotations = { "kubernetes.io/service-account.name": name };
    const secretKey = { name: tokenSecretName(name), namespace };
    await this.kube.apply(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...secretKey, annotations },
      type: "kubernetes.io/service-account-token",
    }, FIELD_MANAGERS.issuer);
    await eventually("the token is issued", async () => {
      return (await this.kube.find(SECRETS, secretKey))?.data?.["token"];
    });
    const status = {
      namespace,
      serviceAccount: name,
      tokenSecret: secretKey.name,
      conditions: [readyCondition({ metadata })],
    };
    const { uid } = metadata;
    const judged = { apiVersion, kind, metadata: { name, uid }, status } as Grant;
    await this.kube.applyStatus(GRANTS, judged, FIELD_MANAGERS.issuer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hold();
    await this.#stack.disposeAsync();
    for (const grant of await this.kube.list(GRANTS)) {
      if (!this.#isOwn(grant.spec.exportName)) continue;
      await removeGrant(this.kube, grant.metadata.name);
      const namespace = { name: boundaryName(grant.spec.identity.subject) };
      await this.kube.delete(NAMESPACES, namespace).catch(unlessGone);
    }
    for (const { metadata: { name } } of await this.kube.list(EXPORTS)) {
      if (this.#isOwn(name)) await this.kube.delete(EXPORTS, { name });
    }
    this.#provider[Symbol.dispose]();
  }

  #isOwn(exportName: string): boolean {
    return exportName.endsWith(this.#id);
  }

  #issueInBackground(grant: Grant): void {
    if (!this.#isOwn(grant.spec.exportName) || isDeleting(grant) || isReady(grant)) return;
    const work = this.issue(grant).catch((error) => {
      // The Grant was deleted or changed meanwhile. That change brings the next event.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
    this.#work.add(work);
    work.finally(() => this.#work.delete(work)).catch(() => {});
  }
}

/** Ignores a boundary that was deleted with another Grant of the same identity. */
const unlessGone = (error: unknown): void =>
  assert.ok(isNotFound(error) || isConflict(error), String(error));
