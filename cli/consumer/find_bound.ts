import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  type KubeObject,
  type ResourceType,
  SECRETS,
} from "../../common/api/resources.ts";
import { type KubeClient, type Selection, withKind } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST } from "../../common/kube/metadata.ts";
import { CONSUMER_NAMESPACE, grantName, identityHash } from "../../common/api/names.ts";
import { CliError } from "../cli_error.ts";
import { connectGateway } from "../gateway/connect.ts";
import type { Io } from "../terminal/io.ts";
import type { GlobalOptions } from "../options.ts";
import type { Consumer } from "./connect_consumer.ts";
import { clusterText } from "./consumer_failure.ts";

/** An object of a bundle on the consumer cluster. */
export interface BoundObject {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/** The kinds of a bundle in the order to delete them: each before the one it refers to. */
const KINDS = [
  { type: CLUSTER_BINDINGS, selection: {} },
  { type: CONNECTIONS, selection: {} },
  { type: SECRETS, selection: { namespace: CONSUMER_NAMESPACE } },
];

/**
 * Finds the objects of one bundle on the consumer: the bundle of the caller's own Grant or, without
 * a session, the only bundle of the Export. Also accepts the full name of a Grant.
 */
export async function findBound(
  io: Io,
  consumer: Consumer,
  exportName: string,
  options: GlobalOptions,
  signal: AbortSignal,
): Promise<BoundObject[]> {
  const candidates = await listCandidates(consumer, exportName, signal);
  const names = [...new Set(candidates.map(({ object }) => object.metadata.name))].sort();
  const name = await chooseName(io, consumer, exportName, names, options, signal);
  return candidates.filter(({ object }) => object.metadata.name === name);
}

async function listCandidates(
  { kube }: Consumer,
  exportName: string,
  signal: AbortSignal,
): Promise<BoundObject[]> {
  const lists = await Promise.all(KINDS.map(async ({ type, selection }) => {
    const objects = await listMetadata(kube, type, selection, signal).catch((error) => {
      if (isNotFound(error)) return []; // the CRD is not installed
      throw error;
    });
    return objects.map((object) => ({ type, object: withKind(type as ResourceType, object) }));
  }));
  return lists.flat().filter(({ object: { metadata: { name } } }) =>
    name === exportName || isGrantOf(exportName, name)
  );
}

/** Lists only metadata, so that no credentials are read. */
export async function listMetadata(
  kube: KubeClient,
  type: ResourceType,
  selection: Selection,
  signal: AbortSignal,
): Promise<Pick<KubeObject, "metadata">[]> {
  const objects: Pick<KubeObject, "metadata">[] = [];
  let next = "";
  do {
    const page = await kube.listPage(type, selection, { next, accept: METADATA_LIST, signal });
    for (const item of page.items) objects.push({ metadata: (item as KubeObject).metadata });
    next = page.continue;
  } while (next !== "");
  return objects;
}

async function chooseName(
  io: Io,
  { target }: Consumer,
  exportName: string,
  names: readonly string[],
  options: GlobalOptions,
  signal: AbortSignal,
): Promise<string> {
  if (names.includes(exportName)) return exportName;
  const own = names.length === 0 ? undefined : await ownGrant(io, exportName, options, signal);
  if (own !== undefined && names.includes(own)) return own;
  const [only, ...others] = names;
  if (only === undefined) {
    throw new CliError(
      "notFound",
      `Cannot unbind Export "${exportName}": ${clusterText(target)} has no binding of it`,
      "See what is bound: kubectl get clusterbindings",
    );
  }
  if (own === undefined && others.length === 0) {
    io.say(`Not logged in: using ${only}, the only binding of Export "${exportName}" here`);
    return only;
  }
  throw new CliError(
    "notFound",
    `Cannot unbind Export "${exportName}": on ${clusterText(target)} it was bound ` +
      `${own === undefined ? "more than once" : "by another user"}: ${names.join(", ")}`,
    "Name the one to remove: kubectl bind unbind <one of these>",
  );
}

/** Computes the name of the caller's Grant; undefined without a session. */
async function ownGrant(
  io: Io,
  exportName: string,
  options: GlobalOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const gateway = await connectGateway(io, options, "session");
    return grantName(exportName, (await gateway.me(signal)).subject);
  } catch (error) {
    if (!(error instanceof CliError) || error.failure === "usage") throw error;
    signal.throwIfAborted();
    return undefined;
  }
}

const HASH_LENGTH = identityHash("").length;

/** Returns whether a name is that of a Grant of this Export, for any identity. */
export function isGrantOf(exportName: string, name: string): boolean {
  const stem = grantName(exportName, "").slice(0, -HASH_LENGTH);
  const hash = name.slice(-HASH_LENGTH);
  return name === stem + hash && /^[0-9a-f]+$/.test(hash) && hash.length === HASH_LENGTH;
}
