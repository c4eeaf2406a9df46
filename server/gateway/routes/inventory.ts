import type { Context, Handler } from "hono";
import { EXPORTS } from "../../../common/api/resources.ts";
import { providerFailed } from "../../../common/errors.ts";
import { exportNotFound } from "../../errors.ts";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { Inventory, InventoryAnswer, RightsFor } from "../../inventory/inventory.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isDnsSubdomain } from "../../../common/api/names.ts";
import type { Env } from "../env.ts";
import { sendBytes } from "../http/send_bytes.ts";

/** Lists the dependencies of the inventory routes. */
export interface InventoryRouteDeps {
  readonly inventory: Inventory;
  readonly exports: ConstructorParameters<typeof Inventory>[0]["caches"]["exports"];
  readonly kube: KubeClient;
  /** Present with `--authorization=Kubernetes`. */
  readonly authorizer?: Authorizer | undefined;
}

/** Handles `GET /api/catalog`. */
export const catalog =
  ({ inventory, authorizer }: InventoryRouteDeps): Handler<Env> => async (c) => {
    const identity = c.get("identity");
    const { signal } = c.req.raw;
    const rightsFor: RightsFor | undefined = authorizer &&
      ((exportNames) => authorizer.catalogRights(identity, exportNames, signal));
    return answer(c, await inventory.catalog(signal, rightsFor));
  };

/** Handles `GET /api/clusters`. */
export const clusters = (deps: InventoryRouteDeps): Handler<Env> => async (c) =>
  answer(c, await forCaller(deps, c, (owner) => deps.inventory.clusters(c.req.raw.signal, owner)));

/** Handles `GET /api/catalog/:export/instances`. */
export const instances =
  (deps: InventoryRouteDeps): Handler<Env, "/api/catalog/:export/instances"> => async (c) => {
    const name = c.req.param("export");
    const { signal } = c.req.raw;
    if (!isDnsSubdomain(name)) throw exportNotFound(name.slice(0, 253));
    const checkSee = async () => await deps.authorizer?.checkSee(c.get("identity"), name, signal);
    await checkSee();
    const offer = deps.exports.get({ name }) ?? await findLive(deps.kube, name);
    if (!offer) throw exportNotFound(name);
    const list = (owner?: string) => deps.inventory.instances(offer, signal, owner);
    const listed = await forCaller(deps, c, list);
    await checkSee(); // the list may have taken a while
    return answer(c, listed);
  };

/** Builds what the caller may see. That may take seconds, so it checks the rights after it, too. */
async function forCaller(
  deps: InventoryRouteDeps,
  c: Context<Env>,
  build: (owner?: string) => Promise<InventoryAnswer>,
): Promise<InventoryAnswer> {
  const owner = await ownerToShow(deps, c);
  const built = await build(owner);
  const ownerNow = await ownerToShow(deps, c);
  return ownerNow === owner ? built : await build(ownerNow);
}

/** Returns the subject whose inventory the caller sees; undefined means everybody's. */
async function ownerToShow(
  { authorizer }: InventoryRouteDeps,
  c: Context<Env>,
): Promise<string | undefined> {
  const identity = c.get("identity");
  if (!authorizer || await authorizer.mayListGrants(identity, c.req.raw.signal)) return undefined;
  return identity.subject;
}

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
