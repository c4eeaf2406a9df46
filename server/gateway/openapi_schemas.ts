import { APPLY_REQUEST, BIND_REQUEST } from "./schemas.ts";

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: "string", description });
const flag = (description: string): Schema => ({ type: "boolean", description });
const time = (description: string): Schema => ({
  type: "string",
  format: "date-time",
  description,
});
const list = (items: Schema): Schema => ({ type: "array", items });
/** A reference to one of `SCHEMAS`. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const object = (required: string[], properties: Record<string, Schema>): Schema => ({
  type: "object",
  required,
  properties,
});
const DIRECTION = { type: "string", enum: ["FromProvider", "FromConsumer"] };

/** Every JSON body of the HTTP API, by name. */
export const SCHEMAS: Record<string, Schema> = {
  Error: object(["error"], { error: text("What failed, and what to do") }),
  ProviderInfo: object(["name", "authMethods", "applyEnabled"], {
    name: text("Name of the provider for people"),
    version: text("Version of the backend"),
    authMethods: list({ type: "string", enum: ["oidc", "kubernetes"] }),
    applyEnabled: flag("Whether POST /api/apply exists"),
  }),
  Me: object(["subject"], {
    subject: text("The identity"),
    displayName: text("For people"),
    groups: list(text("For people; never a permission")),
  }),
  Catalog: object(["exports"], {
    exports: list(object(["name", "title", "apis"], {
      name: text("Name of the Export"),
      title: text("For people"),
      description: text("For people"),
      apis: list(text("<plural>.<group>")),
      iconURL: text("Where its icon lies"),
      docs: text("Where its documentation lies"),
      relatedResources: list(object(["resource", "direction"], {
        resource: text("secrets or configmaps"),
        direction: DIRECTION,
        selector: text("Which of them, for people"),
      })),
    })),
    collections: list(object(["name", "title", "exports"], {
      name: text("Name of the Collection"),
      title: text("For people"),
      description: text("For people"),
      exports: list(text("Name of a visible Export")),
    })),
  }),
  Instances: object(["export", "instances"], {
    export: text("Name of the Export"),
    instances: list(object(["api", "name", "createdAt"], {
      api: text("<plural>.<group>, or secrets or configmaps"),
      related: flag("True for related resources"),
      direction: DIRECTION,
      namespace: text("Absent for cluster-scoped objects"),
      name: text("Name of the object"),
      clusterUID: text("The consumer cluster it came from"),
      identity: text("Display name of the identity behind that cluster"),
      createdAt: time("When it was created on the provider"),
    })),
  }),
  Clusters: object(["clusters"], {
    clusters: list(object(["uid", "lastHeartbeat", "live", "bindings"], {
      uid: text("The consumer cluster"),
      lastHeartbeat: time("Of any of its bindings"),
      live: flag("Whether one of its bindings is live"),
      bindings: list(object(["grant", "export", "lastHeartbeat", "live", "apis"], {
        grant: text("Name of the Grant"),
        export: text("Name of the Export"),
        identity: text("Display name"),
        subject: text("The identity"),
        boundaryNamespace: text("Its namespace on the provider"),
        lastHeartbeat: time("Last renewal of its Lease"),
        live: flag("Renewed within twice the Lease's duration"),
        apis: list(object(["name"], {
          name: text("<plural>.<group>"),
          syncedCount: {
            type: "integer",
            description: "Objects synced from this cluster; absent when the provider cannot list " +
              "the API, so that nobody knows",
          },
        })),
      })),
    })),
    pending: list(object(["grant", "export", "createdAt"], {
      grant: text("Name of a Grant that no cluster used yet"),
      export: text("Name of the Export"),
      identity: text("Display name"),
      createdAt: time("When it was created"),
    })),
    truncated: list(object(["boundaryNamespace", "leases"], {
      boundaryNamespace: text("A namespace that holds more heartbeat Leases than are kept"),
      leases: { type: "integer", description: "How many it holds; only the newest are shown" },
    })),
  }),
  BindRequest: BIND_REQUEST,
  BindResult: object(["grant", "pickupURL", "expiresAt"], {
    grant: text("Name of the Grant"),
    pickupURL: text("Relative to the gateway's root; can be used once"),
    expiresAt: time("When the pickup URL ends"),
  }),
  Bundle: object(["bundle"], { bundle: list({ type: "object" }) }),
  ApplyRequest: APPLY_REQUEST,
  ApplyResult: object(["applied"], { applied: list(text("Kind/name, in order")) }),
};
