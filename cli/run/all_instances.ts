import type { Instances } from "../../common/api/wire.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError } from "../gateway/gateway_error.ts";

const IN_FLIGHT = 8;

/** The objects of every Export in the catalog, in its order. */
export const allInstances = async (
  gateway: GatewayClient,
  signal: AbortSignal,
): Promise<Instances[]> => {
  const { exports } = await gateway.catalog(signal);
  const lists: (Instances | undefined)[] = exports.map(() => undefined);
  const waiting = exports.entries();
  const work = async () => {
    for (const [i, { name }] of waiting) lists[i] = await instancesIfThere(gateway, name, signal);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return lists.filter((list) => list !== undefined);
};

/** An Export may have been deleted since the catalog was read. */
const instancesIfThere = async (gateway: GatewayClient, name: string, signal: AbortSignal) => {
  try {
    return await gateway.instances(name, signal);
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return undefined;
    throw error;
  }
};
