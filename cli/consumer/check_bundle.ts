import { CORE_API_VERSION } from "../../common/api/groups.ts";
import {
  CONSUMER_NAMESPACE,
  isDnsSubdomain,
  isReservedGroup,
  parseApiName,
} from "../../common/api/names.ts";
import type { BindingSpec, KubeObject, RelatedResource } from "../../common/api/resources.ts";
import {
  type Bundle,
  bundleFor,
  bundleObjects,
  KUBECONFIG_KEY,
} from "../../common/consumer/bundle.ts";
import {
  list,
  mapOf,
  oneOf,
  record,
  refined,
  type Shape,
  ShapeError,
  text,
} from "../../common/shape.ts";
import { checkProviderKubeconfig } from "./check_provider_kubeconfig.ts";
import { differences, isMapping, refused } from "./differences.ts";

/** A bundle that has passed the checks, rebuilt from the checked parts. */
export interface CheckedBundle extends Bundle {
  /** The provider's API server. */
  readonly server: string;
}

/** Names the objects of a bundle, for checks of rights; the empty name stands for any bundle. */
export const bundleNamed = (name: string): KubeObject[] => [
  { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: CONSUMER_NAMESPACE } },
  { apiVersion: CORE_API_VERSION, kind: "Connection", metadata: { name } },
  { apiVersion: CORE_API_VERSION, kind: "ClusterBinding", metadata: { name } },
];

/** Kubernetes allows this many characters in the names and labels that hold a Grant's name. */
const MAX_GRANT_LENGTH = 63;

/**
 * Accepts exactly a Secret with one provider's kubeconfig, a Connection that uses the Secret, and a
 * ClusterBinding that uses the Connection, all named like the Grant.
 */
export function checkBundle(given: unknown, grant: string): CheckedBundle {
  if (!isDnsSubdomain(grant) || grant.length > MAX_GRANT_LENGTH) {
    throw refusedBundle("its Grant has no valid name");
  }
  if (!Array.isArray(given) || given.length !== 3) {
    throw refusedBundle("it is not a list of exactly three objects");
  }
  const { server, text: kubeconfig } = checkProviderKubeconfig(
    kubeconfigIn(objectOf(given, "Secret")),
  );
  const bundle = bundleFor(grant, kubeconfig, specOf(objectOf(given, "ClusterBinding")));
  for (const model of bundleObjects(bundle)) {
    const [path] = differences(comparable(objectOf(given, model.kind), kubeconfig), model);
    if (path === undefined) continue;
    throw refusedBundle(`its ${model.kind} has an unexpected value at "${path}"`);
  }
  return { ...bundle, server };
}

/** Puts the rewritten kubeconfig into the Secret; a Secret without a type is Opaque. */
function comparable(object: Record<string, unknown>, kubeconfig: string): unknown {
  if (object["kind"] !== "Secret") return object;
  const stringData = { ...(object["stringData"] as object), [KUBECONFIG_KEY]: kubeconfig };
  return { ...object, type: object["type"] ?? "Opaque", stringData };
}

function objectOf(given: readonly unknown[], kind: string): Record<string, unknown> {
  const [found] = given.filter(isMapping).filter((object) => object["kind"] === kind);
  if (!found) throw refusedBundle(`it holds no ${kind}`);
  return found;
}

function kubeconfigIn({ stringData }: Record<string, unknown>): string {
  const kubeconfig = isMapping(stringData) ? stringData[KUBECONFIG_KEY] : undefined;
  if (typeof kubeconfig === "string") return kubeconfig;
  throw refusedBundle("its Secret holds no kubeconfig");
}

/** An API that a provider can offer; groups without a dot belong to Kubernetes. */
const apiName = refined(text(), (name) => {
  const { group = "" } = parseApiName(name) ?? {};
  return group.includes(".") && !isReservedGroup(group);
}, "is not an API that a provider can offer");

const requirement = record({
  key: text(),
  operator: oneOf("In", "NotIn", "Exists", "DoesNotExist"),
}, { values: list(text()) });

const labelSelector = record({}, {
  matchLabels: mapOf(text()),
  matchExpressions: list(requirement),
});

const relatedResource = record({
  resource: oneOf("secrets", "configmaps"),
  direction: oneOf("FromProvider", "FromConsumer"),
}, {
  group: oneOf(""),
  selector: record({}, { labelSelector, names: list(text()) }),
}) as Shape<RelatedResource>;

const apis = list(record({ name: apiName }));

/** The known fields of a ClusterBinding's spec. */
const BINDING_SPEC = record({ apis: refined(apis, ({ length }) => length > 0, "is empty") }, {
  conflictPolicy: oneOf("Fail", "Adopt"),
  relatedResources: list(relatedResource),
}) as Shape<unknown> as Shape<Omit<BindingSpec, "connectionRef">>;

function specOf({ spec }: Record<string, unknown>): Omit<BindingSpec, "connectionRef"> {
  try {
    return BINDING_SPEC.parse(spec, "spec");
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw refusedBundle(`its ClusterBinding is not valid: ${error.message}`);
  }
}

const refusedBundle = (reason: string) => refused("the bundle", reason);
