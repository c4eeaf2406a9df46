import type {
  BindResult,
  Catalog,
  Clusters,
  Instance,
  Instances,
  Me,
  ProviderInfo,
} from "../../common/api/wire.ts";
import { flag, list, name, number, oneOf, type Parse, record, text } from "../../common/shape.ts";

const direction = oneOf("FromProvider", "FromConsumer");

/** `GET /api/provider`; methods that we do not know are none of ours to refuse. */
export const parseProvider: Parse<ProviderInfo> = record({
  name: text,
  authMethods: list(text) as Parse<ProviderInfo["authMethods"]>,
  applyEnabled: flag,
}, { version: text });

/** `GET /api/me` */
export const parseMe: Parse<Me> = record({ subject: name }, {
  displayName: text,
  groups: list(text),
});

const related = record({ resource: text, direction }, { selector: text });

const catalogExport = record({ name, title: text, apis: list(text) }, {
  description: text,
  iconURL: text,
  docs: text,
  relatedResources: list(related),
});

const collection = record({ name, title: text, exports: list(text) }, { description: text });

/** `GET /api/catalog` */
export const parseCatalog: Parse<Catalog> = record({ exports: list(catalogExport) }, {
  collections: list(collection),
});

const instance = record({ api: text, name, createdAt: text }, {
  related: flag,
  direction,
  namespace: text,
  clusterUID: text,
  identity: text,
}) as Parse<Instance>;

/** `GET /api/catalog/{export}/instances` */
export const parseInstances: Parse<Instances> = record({ export: text, instances: list(instance) });

const binding = record({
  grant: text,
  export: text,
  lastHeartbeat: text,
  live: flag,
  apis: list(record({ name: text }, { syncedCount: number })),
}, { identity: text, subject: text, boundaryNamespace: text });

const cluster = record({
  uid: text,
  lastHeartbeat: text,
  live: flag,
  bindings: list(binding),
});

const pending = record({ grant: text, export: text, createdAt: text }, { identity: text });

/** `GET /api/clusters` */
export const parseClusters: Parse<Clusters> = record({ clusters: list(cluster) }, {
  pending: list(pending),
  truncated: list(record({ boundaryNamespace: text, leases: number })),
});

/** `POST /api/bind` */
export const parseBindResult: Parse<BindResult> = record({
  grant: name,
  pickupURL: name,
  expiresAt: text,
});

/** `GET /api/bundle/{token}` as JSON; what its objects are is for those to check who apply them. */
export const parseBundle: Parse<{ readonly bundle: readonly unknown[] }> = record({
  bundle: list((value: unknown) => value),
});

/** Every failure that is told as JSON. */
export const parseErrorBody: Parse<{ readonly error: string }> = record({ error: name });
