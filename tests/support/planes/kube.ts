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

/** A client for one test; disposing closes its connections. */
export interface Connected extends Disposable {
  readonly kube: KubeClient;
  readonly transport: Transport;
}

/** The user agent of tests in audit logs. */
export const TEST_USER_AGENT = "xbind-test";

/** Connects as the only user of a kubeconfig file, or as the admin of a control plane. */
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

/** A namespace for one test, and a client as admin. */
export interface Workspace extends AsyncDisposable {
  readonly kube: KubeClient;
  /** Its name starts with the prefix; disposing deletes it. */
  readonly namespace: string;
}

/** Creates a namespace on a control plane. */
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

/** Makes a name that no other test uses. */
export const uniqueName = (prefix: string): string =>
  `${prefix}-${crypto.randomUUID().slice(0, 8)}`;

/** A ConfigMap, the simplest object. */
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

/** A Secret with the password `marker-data`, for tests that search for leaks. */
export const plainSecret = (namespace: string, name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...metadata, name, namespace },
  stringData: { password: "marker-data" },
});

/** Runs a cache, and resolves at its first sync; disposing stops the cache. */
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

/** Waits until a cache holds the same objects and versions as a live list. */
export async function sameAsLive<T extends MetadataObject, Index extends string>(
  cache: Cache<T, Index>,
  kube: KubeClient,
  type: ResourceType,
  selection: Selection = {},
): Promise<void> {
  const versions = (objects: Iterable<MetadataObject>) =>
    [...objects].map(({ metadata }) => `${keyText(metadata)} ${metadata.resourceVersion}`).sort();
  await eventually(`the cache of ${type.plural} equals a live list`, async () => {
    const live = versions(await kube.list(type, selection));
    assert.deepEqual(versions(cache.values()), live);
    return true;
  });
}

/** The identity of a client at the API server. */
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

/** Returns the user name of a client at the API server. */
export const whoAmI = async (kube: KubeClient, signal?: AbortSignal): Promise<string> =>
  (await reviewSelf(kube, signal)).username;

/** Returns a token of a ServiceAccount, and creates the account if it is missing. */
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

/** Makes a directory; disposing deletes it. */
export async function temporaryDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "xbind-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
