import type { Condition } from "../../common/api/resources.ts";

/** What to do when the reason alone does not tell. */
export const SEE_KONNECTOR = "Check that the konnector runs and reaches the provider: " +
  "kubectl -n xbind logs deployment/konnector";

const BIND_AGAIN = "Bind again: kubectl bind export <name>";

/** What to do about a condition, by its reason; some reasons differ by condition. */
const REMEDIES: Readonly<Record<string, string>> = {
  Pending: "Wait a moment; the message tells what for. If it stays, see the konnector's log: " +
    "kubectl -n xbind logs deployment/konnector",
  SecretNotFound: `Its credentials are gone. ${BIND_AGAIN}`,
  SecretInvalid: `The message names the fault in its kubeconfig. ${BIND_AGAIN}`,
  ExpiresSoon: `Its token expires at the time in the message. ${BIND_AGAIN}`,
  ProviderUnreachable:
    "Check address, network and certificate in the message; it retries by itself",
  CredentialsRejected: `The Grant or its token is gone. ${BIND_AGAIN}`,
  ClusterIdentityChanged:
    "The kubeconfig leads to another cluster. If that is right, unbind, then " +
    "bind again; else restore the Secret",
  Forbidden: `The message names the missing right. On the provider: ${lower(BIND_AGAIN)}. ` +
    "On this cluster: kubectl bind connect",
  APINotExported:
    "The provider does not export that API, or no longer: ask the provider, or unbind",
  ForeignObjectExists: "This cluster has its own CRD of that name: delete it, or unbind the API",
  OwnedByAnother: "Another object owns that name on the provider: rename this one",
  SchemaIncompatible:
    "The message names what changed in the provider's CRD: ask the provider to mend it, or accept " +
    "it as the message says; objects are synced with the old schema meanwhile",
  Rejected: "The API cannot be pulled, for the reason in the message: ask the provider, or unbind",
  APIBoundElsewhere: "Two bindings name the API: delete the one that is not needed",
  DrainingBindings: "It is being deleted: delete the bindings in the message, or wait for them",
  DrainingObjects: "It is being deleted: wait until its objects are released",
  SchemaMissing: "Its pullPolicy is None: install the CRD in the message yourself",
  TooManyAPIs: "More than 100 APIs are exported: bind the ones you need with a ClusterBinding",
  Paused: "Take the annotation core.xbind.io/paused off when sync shall go on",
  AnnotationInvalid: "Correct the annotation in the message; until then an unbind waits",
  "Conflicts ForeignObjectExists": "Rename the objects, let the provider delete its own, or set " +
    "conflictPolicy: Adopt; the rows of objects name them",
  "Synced Rejected": "A related Secret or ConfigMap is refused: change it as the message says",
  "AutoBound ForeignObjectExists":
    "A ClusterBinding has the name of the Connection: delete it, or " +
    "switch autoBind off",
  "SchemaInSync APINotExported":
    "Objects are still synced, but other clusters cannot bind the API: " +
    "ask the provider",
};

/** Returns the remedy for a condition that is not as it should be. */
export const conditionRemedy = ({ type, reason }: Pick<Condition, "type" | "reason">): string =>
  REMEDIES[`${type} ${reason}`] ?? REMEDIES[reason] ?? SEE_KONNECTOR;

/** Returns the remedy for an object that is not synced. */
export const objectRemedy = (reason: string): string =>
  OBJECT_REMEDIES[reason] ?? "See its Events: kubectl describe";

const OBJECT_REMEDIES: Readonly<Record<string, string>> = {
  ForeignObjectExists: "The provider has a foreign object of that name: rename this one, or set " +
    "conflictPolicy: Adopt on the ClusterBinding",
  OwnedByAnother: "The provider has a copy of another object with that name: rename this one",
  Rejected: "Change the object as the provider's message says",
};

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
