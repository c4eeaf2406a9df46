import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../common/api/crd_manifests.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CRDS,
  EXPORTS,
  type Grant,
  GRANTS,
  LEASES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../common/api/resources.ts";
import { ACCOUNT_UID_ANNOTATION, grantObjects } from "../server/issuer/grant_objects.ts";
import { ISSUED, statusUpdate } from "../server/issuer/grant_status.ts";
import { readyCondition } from "../server/issuer/reconcile_export.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { installCrds } from "../common/kube/crds.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { createLogger } from "../common/log/log.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { inTurn } from "./in_turn.ts";
import {
  API,
  COG_CRD,
  cogFor,
  COGS,
  consumerUid,
  exportFor,
  grantFor,
  leaseFor,
} from "./samples.ts";

/** The number of objects on a provider. */
export interface Size {
  readonly exports: number;
  readonly grants: number;
  readonly objects: number;
}

const WRITERS = 48;

/** Returns the subject of the identity with this number. */
export const subject = (i: number): string => `https://idp.example.org#consumer-${i}`;

/**
 * A provider with the objects that the issuer, the gateway and konnectors would create. It creates
 * them directly, which is faster, so that a new backend finds everything in place.
 */
export class GrowingProvider implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kube: KubeClient;
  readonly #stack: AsyncDisposableStack;
  #size: Size = { exports: 0, grants: 0, objects: 0 };

  private constructor(plane: ControlPlane, kube: KubeClient, stack: AsyncDisposableStack) {
    this.plane = plane;
    this.kube = kube;
    this.#stack = stack;
  }

  static async start(): Promise<GrowingProvider> {
    const stack = new AsyncDisposableStack();
    const options = { name: "bench", auditLog: true, controllerManager: false };
    const plane = stack.use(await ControlPlane.start(options));
    const { kube } = stack.use(await connect(plane, { maxInFlight: 100 }));
    const log = createLogger({
      encoder: "json",
      level: "error",
      stacktraceLevel: "panic",
      timeEncoding: "rfc3339",
    });
    await installCrds({ kube, log, version: "0.0.0" }, serviceCrds(), AbortSignal.timeout(30_000));
    await kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
    await eventually("the API is served", () => kube.list(COGS).then(() => true));
    return new GrowingProvider(plane, kube, stack);
  }

  /** The current size. */
  get size(): Size {
    return this.#size;
  }

  /** Adds the missing objects up to this size. */
  async growTo(to: Partial<Size>, progress: (text: string) => void): Promise<void> {
    const { exports, grants, objects } = this.#size;
    const grow = async (
      what: string,
      from: number,
      end = 0,
      make: (i: number) => Promise<void>,
    ) => {
      if (end <= from) return from;
      progress(`creating ${end - from} ${what}`);
      await inTurn(end - from, WRITERS, (i) => make(from + i));
      return end;
    };
    this.#size = {
      exports: await grow("Exports", exports, to.exports, (i) => this.#makeExport(i)),
      grants: await grow("Grants and what belongs to them", grants, to.grants, this.#makeGrant),
      objects: await grow("objects", objects, to.objects, (i) => this.#makeObject(i)),
    };
  }

  /** Renews a heartbeat. */
  async beat(i: number, renewedMs = Date.now()): Promise<void> {
    const lease = leaseFor(grantFor(subject(i)), consumerUid(i), renewedMs);
    await this.kube.apply(LEASES, lease, FIELD_MANAGERS.cli);
  }

  /** Renews all heartbeats. */
  async beatAll(): Promise<void> {
    await inTurn(this.#size.grants, WRITERS, (i) => this.beat(i));
  }

  /** Deletes all Exports except the first ones. */
  async keepExports(count: number): Promise<void> {
    await inTurn(this.#size.exports - count, WRITERS, async (i) => {
      await this.kube.delete(EXPORTS, { name: `service-${count + i}` });
    });
    this.#size = { ...this.#size, exports: count };
  }

  /** Deletes all objects that consumers synced. */
  async deleteObjects(): Promise<void> {
    await inTurn(this.#size.objects, WRITERS, async (i) => {
      await this.kube.delete(COGS, { name: `cog-${i}`, namespace: "default" });
    });
    this.#size = { ...this.#size, objects: 0 };
  }

  /** Deletes all Grants. An issuer must still revoke them. */
  async deleteGrants(): Promise<void> {
    await inTurn(this.#size.grants, WRITERS, async (i) => {
      const { metadata: { name } } = grantFor(subject(i));
      await this.kube.delete(GRANTS, { name });
    });
    this.#size = { ...this.#size, grants: 0 };
  }

  async #makeExport(i: number): Promise<void> {
    const offer = await this.kube.create(EXPORTS, exportFor(`service-${i}`), FIELD_MANAGERS.cli);
    const ready = readyCondition(offer, { missing: [] }, new Date());
    const { apiVersion, kind, metadata: { name } } = offer;
    await this.kube.applyStatus(
      EXPORTS,
      { apiVersion, kind, metadata: { name }, status: { conditions: [ready] } } as typeof offer,
      FIELD_MANAGERS.exports,
    );
  }

  readonly #makeGrant = async (i: number): Promise<void> => {
    const { kube } = this;
    const grant = await kube.create(GRANTS, grantFor(subject(i)), FIELD_MANAGERS.gateway);
    await makeIssued(kube, grant);
    const status = statusUpdate(grant, ISSUED, new Date());
    if (status) await kube.applyStatus(GRANTS, status, FIELD_MANAGERS.issuer);
    await this.beat(i);
  };

  async #makeObject(i: number): Promise<void> {
    const uid = consumerUid(i % Math.max(1, this.#size.grants));
    await this.kube.create(COGS, cogFor(i, uid), FIELD_MANAGERS.cli);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Creates all objects that the issuer creates for a Grant, with a filled token Secret. */
async function makeIssued(kube: KubeClient, grant: Grant): Promise<void> {
  const issuer = FIELD_MANAGERS.issuer;
  const made = grantObjects(grant, [API], { issuerScope: "Cluster" });
  await kube.apply(NAMESPACES, made.boundary, issuer);
  const account = await kube.apply(SERVICE_ACCOUNTS, made.account, issuer);
  const { metadata } = made.tokenSecret;
  const uid = account.metadata.uid ?? "";
  const annotations = { ...metadata.annotations, [ACCOUNT_UID_ANNOTATION]: uid };
  const secret = { ...made.tokenSecret, metadata: { ...metadata, annotations } };
  await Promise.all([
    kube.apply(SECRETS, secret, issuer),
    kube.apply(ROLES, made.role, issuer),
    kube.apply(ROLE_BINDINGS, made.roleBinding, issuer),
    kube.apply(CLUSTER_ROLES, made.clusterRole, issuer),
    kube.apply(CLUSTER_ROLE_BINDINGS, made.clusterRoleBinding, issuer),
  ]);
}
