import { type Deployment, DEPLOYMENTS, type KubeObject } from "../../common/api/resources.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { CONSUMER_NAMESPACE, KONNECTOR_IMAGE } from "../../common/api/names.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { serverText } from "../gateway/server_url.ts";
import { checkManifest, imageOf } from "./check_manifest.ts";

/** A konnector to install. */
export interface KonnectorPlan {
  readonly objects: readonly KubeObject[];
  readonly image: string;
  /** Where the image comes from, in words. */
  readonly origin: string;
}

/** The key of the konnector's Deployment. */
const KONNECTOR_KEY = { name: "konnector", namespace: CONSUMER_NAMESPACE } as const;

/**
 * Chooses the konnector to install: our manifest with the requested image, else the checked
 * manifest of the gateway, else our manifest with the default image.
 */
export async function planKonnector(
  gateway: GatewayClient | undefined,
  image: string | undefined,
  signal: AbortSignal,
): Promise<KonnectorPlan> {
  if (image !== undefined || !gateway) {
    const chosen = image ?? KONNECTOR_IMAGE;
    const origin = image === undefined ? "built in" : "--konnector-image";
    return { objects: konnectorManifest(chosen), image: chosen, origin };
  }
  const objects = checkManifest(await gateway.konnectorManifest(signal));
  const served = objects.map(imageOf).find((found) => found !== undefined) ?? "";
  return { objects, image: served, origin: serverText(gateway.base) };
}

/** Finds the konnector's Deployment. */
export const installedKonnector = (
  kube: KubeClient,
  signal: AbortSignal,
): Promise<Deployment | undefined> => kube.find(DEPLOYMENTS, KONNECTOR_KEY, signal);
