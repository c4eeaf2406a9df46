import assert from "node:assert/strict";
import { join } from "node:path";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import { type Grant, SECRETS } from "../../../common/api/resources.ts";
import { tokenSecretName } from "../../../common/api/names.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { boundaryOf } from "../planes/issuer_samples.ts";
import { connect, type Connected } from "../planes/kube.ts";

/** Waits for the credentials of a Grant, and connects with them. */
export async function accessOf(
  plane: ControlPlane,
  kube: KubeClient,
  grant: Grant,
): Promise<Connected> {
  const namespace = boundaryOf(grant);
  const name = tokenSecretName(grant.metadata.name);
  const data = await eventually(`Secret ${name} is filled`, async () => {
    const secret = await kube.find(SECRETS, { name, namespace });
    return secret?.data?.["token"] && secret.data;
  });
  const text = (field: string) =>
    new TextDecoder().decode(Uint8Array.fromBase64(data[field] ?? assert.fail(`no ${field}`)));
  const path = join(plane.dir, `issued-${crypto.randomUUID()}.kubeconfig`);
  const credentials = { token: text("token") };
  const parts = { cluster: "provider", server: plane.server, caPem: text("ca.crt"), user: "xbind" };
  await Deno.writeTextFile(path, kubeconfigFor({ ...parts, credentials, namespace }));
  return await connect(path);
}
