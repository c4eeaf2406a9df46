import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  type ConfigMap,
  NAMESPACES,
  type ResourceType,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import type { Cache } from "../../../common/kube/cache.ts";
import { KubeClient, type Selection } from "../../../common/kube/client.ts";
import { loadTarget } from "../../../common/kube/load_target.ts";
import type { MetadataObject } from "../../../common/kube/metadata.ts";
import { keyText } from "../../../common/kube/paths.ts";
import { Transport, type TransportOptions } from "../../../common/kube/transport.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";

/** A client for one test; disposing it closes its connections. */
export interface Connected extends Disposable {
  readonly kube: KubeClient;
  readonly transport: Transport;
}

/** The user agent of tests, by which audit logs tell them from everybody else. */
export const TEST_USER_AGENT = "xbind-test";

/** A client as the only user of a kubeconfig file, or as the admin of a control plane. */
export async function connect(
  to: string | Pick<ControlPlane, "adminKubeconfig">,
  options: Partial<TransportOptions> = {},
): Promise<Connected> {
  const kubeconfig = typeof to === "string" ? to : to.adminKubeconfig;
  const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
  const transport = new Transport(target, { userAgent: TEST_USER_AGENT, ...options });
  return {
    kube: new KubeClient(transport),
    transport,
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  };
}

/** A client as admin and a namespace of its own, for one test. */
export interface Workspace extends AsyncDisposable {
  readonly kube: KubeClient;
  /** Its name starts with the prefix; it goes with all it holds. */
  readonly namespace: string;
}

/** Makes a place to work in on a control plane. */
export async function workspace(
  plane: Pick<ControlPlane, "adminKubeconfig">,
  prefix: string,
): Promise<Workspace> {
  const { kube, transport } = await connect(plane);
  const name = uniqueName(prefix);
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  await kube.create(NAMESPACES, namespace, FIELD_MANAGERS.installer);
  return {
    kube,
    namespace: name,
    async [Symbol.asyncDispose]() {
      await kube.delete(NAMESPACES, { name });
      transport[Symbol.dispose]();
    },
  };
}

/** A name that no other test uses. */
export const uniqueName = (prefix: string): string =>
  `${prefix}-${crypto.randomUUID().slice(0, 8)}`;

/** A ConfigMap, the plainest object there is. */
export const configMap = (
  namespace: string,
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels },
  data,
});

/** A Secret whose password is `marker-data`, to look for where it must not be. */
export const plainSecret = (namespace: string, name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...metadata, name, namespace },
  stringData: { password: "marker-data" },
});

/** Runs a cache, and resolves at its first sync; disposing it stops the cache. */
export async function running<T extends MetadataObject, Index extends string>(
  cache: Cache<T, Index>,
  kube: KubeClient,
): Promise<AsyncDisposable> {
  const stop = new AbortController();
  const run = cache.run(kube, stop.signal);
  const end = async () => {
    stop.abort();
    await run;
  };
  try {
    await cache.whenSynced(AbortSignal.timeout(30_000));
  } catch (error) {
    await end();
    throw error;
  }
  return { [Symbol.asyncDispose]: end };
}

/** Waits until a cache holds what a live list holds, object by object and version by version. */
export async function sameAsLive<T extends MetadataObject, Index extends string>(
  cache: Cache<T, Index>,
  kube: KubeClient,
  type: ResourceType,
  selection: Selection = {},
): Promise<void> {
  const versions = (objects: Iterable<MetadataObject>) =>
    [...objects].map(({ metadata }) => `${keyText(metadata)} ${metadata.resourceVersion}`).sort();
  await eventually(`the cache of ${type.plural} is like a live list`, async () => {
    const live = versions(await kube.list(type, selection));
    assert.deepEqual(versions(cache.values()), live);
    return true;
  });
}

/** What the API server knows about a client. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Asks the API server who the client is. */
export async function reviewSelf(kube: KubeClient, signal?: AbortSignal): Promise<UserInfo> {
  const { status } = await kube.request<{ status: { userInfo: UserInfo } }>(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    signal,
  );
  return status.userInfo;
}

/** The name by which the API server knows a client. */
export const whoAmI = async (kube: KubeClient, signal?: AbortSignal): Promise<string> =>
  (await reviewSelf(kube, signal)).username;

/** A token of a ServiceAccount, which is made if need be. */
export async function accountToken(
  kube: KubeClient,
  namespace: string,
  name: string,
): Promise<string> {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  await kube.apply(SERVICE_ACCOUNTS, account, FIELD_MANAGERS.installer);
  const { status } = await kube.request<{ status: { token: string } }>(
    "POST",
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  return status.token;
}

/** A directory that goes with the test. */
export async function temporaryDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "xbind-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
