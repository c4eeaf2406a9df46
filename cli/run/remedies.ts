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
    "The message names what changed in the provider's CRD: ask the provider to fix it, or accept " +
    "it as the message says; objects are synced with the old schema meanwhile",
  Rejected: "The API cannot be pulled, for the reason in the message: ask the provider, or unbind",
  APIBoundElsewhere: "Two bindings name the API: delete the one that is not needed",
  DrainingBindings: "It is being deleted: delete the bindings in the message, or wait for them",
  DrainingObjects: "It is being deleted: wait until its objects are released",
  SchemaMissing: "Its pullPolicy is None: install the CRD in the message yourself",
  TooManyAPIs: "More than 100 APIs are exported: bind the ones you need with a ClusterBinding",
  Paused: "Remove the annotation core.xbind.io/paused to resume the sync",
  AnnotationInvalid: "Correct the annotation in the message; until then an unbind waits",
  "Conflicts ForeignObjectExists": "Rename the objects, let the provider delete its own, or set " +
    "conflictPolicy: Adopt; the rows of objects name them",
  "Synced Rejected": "A related Secret or ConfigMap is refused: change it as the message says",
  "Synced AsExpected":
    "The Event Leftovers of the binding names them: ask the provider to delete " +
    "them, or let the konnector: kubectl -n xbind set env deployment/konnector XBIND_LEFTOVERS=delete",
  "AutoBound ForeignObjectExists":
    "A ClusterBinding has the name of the Connection: delete it, or " +
    "switch autoBind off",
  "SchemaInSync APINotExported":
    "Unbind an API that the provider no longer has. One that it no longer exports is still synced, " +
    "but other clusters cannot bind it: ask the provider",
};

const NEVER_ADOPTED = "Related Secrets and ConfigMaps are never adopted: rename one of the two";

/** What to do about a reason that means several things: the first phrase in its message decides. */
export const BY_MESSAGE: readonly {
  /** A reason, or a condition and its reason. */
  readonly of: string;
  /** All of them are in the message. */
  readonly phrases: readonly string[];
  readonly remedy: string;
}[] = [
  {
    of: "Pending",
    phrases: ["The Connection ", " does not exist"],
    remedy: `Its Connection is gone. ${BIND_AGAIN}, or delete the binding`,
  },
  {
    of: "PermissionDenied Forbidden",
    phrases: ["Only objects in the namespace "],
    remedy: "Move the objects to the namespace in the message, or ask the provider for a " +
      "credential for all namespaces",
  },
  {
    of: "SchemaIncompatible",
    phrases: ["This cluster refused the CRD "],
    remedy: "This cluster refused the provider's CRD, for the reason in the message: change what " +
      "refuses it here, or ask the provider",
  },
  {
    of: "Rejected",
    phrases: [" is cluster-scoped: "],
    remedy: "Take the API out of the Binding, and bind it with a ClusterBinding",
  },
  {
    of: "Rejected",
    phrases: ["The provider serves no version of "],
    remedy: "The CRD here is out of date: install a version that the provider serves, or let the " +
      "konnector (pullPolicy: Bound, updatePolicy: Always)",
  },
  {
    of: "Conflicts ForeignObjectExists",
    phrases: [" in conflict", " is not copied: "],
    remedy: "Rename the objects, or set conflictPolicy: Adopt; the rows of objects name them. " +
      NEVER_ADOPTED,
  },
  {
    of: "Conflicts ForeignObjectExists",
    phrases: [" is not copied: "],
    remedy: NEVER_ADOPTED,
  },
];

/** Returns the remedy for a condition that is not as it should be. */
export function conditionRemedy(
  { type, reason, message }: Pick<Condition, "type" | "reason" | "message">,
): string {
  const keys = [`${type} ${reason}`, reason];
  const special = BY_MESSAGE.find(({ of, phrases }) =>
    keys.includes(of) && phrases.every((phrase) => message.includes(phrase))
  );
  return special?.remedy ?? keys.map((key) => REMEDIES[key]).find(Boolean) ?? SEE_KONNECTOR;
}

/** Returns the remedy for an object that is not synced. */
export const objectRemedy = (reason: string): string =>
  OBJECT_REMEDIES[reason] ?? "See its Events: kubectl describe";

const OBJECT_REMEDIES: Readonly<Record<string, string>> = {
  ForeignObjectExists: "The provider has a foreign object of that name: rename this one, or set " +
    "conflictPolicy: Adopt on the ClusterBinding",
  OwnedByAnother: "The provider has the copy of another object with that name: rename this one. " +
    "If this cluster left that copy over, conflictPolicy: Adopt takes it back",
  Rejected: "Change the object or its annotation as the message says",
};

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
