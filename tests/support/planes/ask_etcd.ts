import assert from "node:assert/strict";
import http from "node:http";
import { join } from "node:path";
import { ETCD_SOCKET } from "../../../scripts/controlplane/command_lines.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CRDS, EXPORTS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";

/** Removes all past revisions from etcd, as happens every few minutes in production. */
export async function compactEtcd(plane: Pick<ControlPlane, "dir">): Promise<void> {
  const { header } = await ask(plane, "/v3/kv/range", { key: btoa("/") });
  await ask(plane, "/v3/kv/compaction", { revision: header.revision, physical: true });
}

/** Writes a key that the API server does not serve, so that no watch sees the write. */
export async function writeUnseen(plane: Pick<ControlPlane, "dir">): Promise<void> {
  await ask(plane, "/v3/kv/put", { key: btoa("/unseen"), value: btoa(crypto.randomUUID()) });
}

/**
 * Deletes all CRDs, and waits until the API server no longer serves Exports. An API server may take
 * minutes to delete CRDs that it has just begun to serve, so this asks etcd.
 */
export async function dropCrds(plane: Pick<ControlPlane, "dir">, kube: KubeClient): Promise<void> {
  const prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions";
  const range = { key: btoa(`${prefix}/`), range_end: btoa(`${prefix}0`) }; // 0 comes after /
  await ask(plane, "/v3/kv/deleterange", range);
  await eventually("the CRDs are gone", async () => {
    const isServed = await kube.list(EXPORTS).then(() => true, (error) => !isNotFound(error));
    return !isServed && (await kube.list(CRDS)).length === 0;
  });
}

/** Calls etcd over the socket that the API server uses. */
async function ask(
  { dir }: Pick<ControlPlane, "dir">,
  path: string,
  body: object,
): Promise<{ header: { revision: string } }> {
  const json = JSON.stringify(body);
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.request({
      socketPath: join(dir, ETCD_SOCKET),
      method: "POST",
      path,
      headers: { "Content-Length": String(json.length) },
    }, resolve).on("error", reject).end(json);
  });
  let text = "";
  for await (const part of answer) text += part;
  assert.equal(answer.statusCode, 200, text);
  return JSON.parse(text);
}
