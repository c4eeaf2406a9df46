import assert from "node:assert/strict";
import http from "node:http";
import { join } from "node:path";
import { ETCD_SOCKET } from "../../../scripts/controlplane/command_lines.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";

/** Lets etcd forget all but the present, as it does every few minutes in production. */
export async function compactEtcd(plane: Pick<ControlPlane, "dir">): Promise<void> {
  const { header } = await ask(plane, "/v3/kv/range", { key: btoa("/") });
  await ask(plane, "/v3/kv/compaction", { revision: header.revision, physical: true });
}

/** Writes what no API server serves, and so no watch has seen. */
export async function writeUnseen(plane: Pick<ControlPlane, "dir">): Promise<void> {
  await ask(plane, "/v3/kv/put", { key: btoa("/unseen"), value: btoa(crypto.randomUUID()) });
}

/** Asks etcd over the socket on which the API server does. */
async function ask(
  { dir }: Pick<ControlPlane, "dir">,
  path: string,
  body: object,
): Promise<{ header: { revision: string } }> {
  const text = JSON.stringify(body);
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.request({
      socketPath: join(dir, ETCD_SOCKET),
      method: "POST",
      path,
      headers: { "Content-Length": String(text.length) },
    }, resolve).on("error", reject).end(text);
  });
  let said = "";
  for await (const part of answer) said += part;
  assert.equal(answer.statusCode, 200, said);
  return JSON.parse(said);
}
