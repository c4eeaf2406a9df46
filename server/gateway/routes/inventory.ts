import type { Context, Handler } from "hono";
import { EXPORTS } from "../../../common/api/resources.ts";
import { providerFailed } from "../../../common/errors.ts";
import { exportNotFound } from "../../errors.ts";
import type { Inventory, InventoryAnswer } from "../../inventory/inventory.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isDnsSubdomain } from "../../../common/api/names.ts";
import type { Env } from "../env.ts";
import { sendBytes } from "../http/send_bytes.ts";

/** Lists the dependencies of the inventory routes. */
export interface InventoryRouteDeps {
  readonly inventory: Inventory;
  readonly exports: ConstructorParameters<typeof Inventory>[0]["caches"]["exports"];
  readonly kube: KubeClient;
}

/** Handles `GET /api/catalog`. */
export const catalog = ({ inventory }: InventoryRouteDeps): Handler<Env> => async (c) =>
  answer(c, await inventory.catalog(c.req.raw.signal));

/** Handles `GET /api/clusters`. */
export const clusters = ({ inventory }: InventoryRouteDeps): Handler<Env> => async (c) =>
  answer(c, await inventory.clusters(c.req.raw.signal));

/** Handles `GET /api/catalog/:export/instances`. */
export const instances =
  (deps: InventoryRouteDeps): Handler<Env, "/api/catalog/:export/instances"> => async (c) => {
    const name = c.req.param("export");
    if (!isDnsSubdomain(name)) throw exportNotFound(name.slice(0, 253));
    const offer = deps.exports.get({ name }) ?? await findLive(deps.kube, name);
    if (!offer) throw exportNotFound(name);
    return answer(c, await deps.inventory.instances(offer, c.req.raw.signal));
  };

/** Reads the Export from the API server, because the cache may be stale. */
async function findLive(kube: KubeClient, name: string) {
  try {
    return await kube.find(EXPORTS, { name });
  } catch (cause) {
    throw providerFailed(`find Export "${name}"`, "the provider cluster failed", cause);
  }
}

function answer(c: Context<Env>, { body, zipped, etag, ageSeconds }: InventoryAnswer): Response {
  c.header("Cache-Control", "private, no-cache");
  c.header("Vary", "Cookie, Authorization, Accept-Encoding");
  if (ageSeconds !== undefined) c.header("Age", String(ageSeconds));
  return sendBytes(c, { plain: body, zipped, etag, contentType: "application/json" });
}
