import assert from "node:assert/strict";
import http from "node:http";
import { join } from "node:path";
import { ETCD_SOCKET } from "../../../scripts/controlplane/command_lines.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";

/** Removes all past revisions from etcd, as happens every few minutes in production. */
export async function compactEtcd(plane: Pick<ControlPlane, "dir">): Promise<void> {
  const { header } = await ask(plane, "/v3/kv/range", { key: btoa("/") });
  await ask(plane, "/v3/kv/compaction", { revision: header.revision, physical: true });
}

/** Writes a key that the API server does not serve, so that no watch sees the write. */
export async function writeUnseen(plane: Pick<ControlPlane, "dir">): Promise<void> {
  await ask(plane, "/v3/kv/put", { key: btoa("/unseen"), value: btoa(crypto.randomUUID()) });
}

/** Deletes all CRDs at once, without the cleanup that may take an API server minutes. */
export async function dropCrds(plane: Pick<ControlPlane, "dir">): Promise<void> {
  const prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions";
  const range = { key: btoa(`${prefix}/`), range_end: btoa(`${prefix}0`) }; // 0 comes after /
  await ask(plane, "/v3/kv/deleterange", range);
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
