import { CORE_API_VERSION } from "../../common/api/groups.ts";
import type {
  BindingSpec,
  ClusterBinding,
  Connection,
  KubeObject,
  Secret,
} from "../../common/api/resources.ts";
import { CONSUMER_NAMESPACE, isDnsSubdomain } from "../../common/api/names.ts";
import { ShapeError } from "../../common/shape.ts";
import { checkProviderKubeconfig } from "./check_provider_kubeconfig.ts";
import { differences, isMapping } from "./differences.ts";
import { parseBindingSpec } from "./parse_binding_spec.ts";
import { refused } from "./refused.ts";

/** A bundle that was found harmless, made anew from the parts that were checked. */
export interface Bundle {
  readonly secret: Secret & { readonly stringData: { readonly kubeconfig: string } };
  readonly connection: Connection;
  readonly binding: ClusterBinding;
  /** The provider's API server. */
  readonly server: string;
}

/** The bundle's objects in the order to apply them. */
export const bundleObjects = (
  { secret, connection, binding }: Omit<Bundle, "server">,
): KubeObject[] => [
  secret,
  connection,
  binding,
];

/** The keys of a bundle's objects, for questions about them; without a name, about any such. */
export const bundleNamed = (name: string): KubeObject[] => [
  { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: CONSUMER_NAMESPACE } },
  { apiVersion: CORE_API_VERSION, kind: "Connection", metadata: { name } },
  { apiVersion: CORE_API_VERSION, kind: "ClusterBinding", metadata: { name } },
];

const KUBECONFIG_KEY = "kubeconfig";
/** As in the names of everything that is made for a Grant. */
const MAX_GRANT_LENGTH = 63;

/**
 * What a gateway sent as the bundle of a Grant, once it is certain that it is exactly a Secret
 * with one provider's kubeconfig, a Connection that uses it and a ClusterBinding that uses that.
 */
export function checkBundle(given: unknown, grant: string): Bundle {
  if (!isDnsSubdomain(grant) || grant.length > MAX_GRANT_LENGTH) {
    throw refusedBundle("its Grant has no valid name");
  }
  if (!Array.isArray(given) || given.length !== 3) {
    throw refusedBundle("it is not a list of exactly three objects");
  }
  const { server, text } = checkProviderKubeconfig(kubeconfigIn(objectOf(given, "Secret")));
  const bundle = bundleFor(grant, text, specOf(objectOf(given, "ClusterBinding")));
  for (const model of [bundle.secret, bundle.connection, bundle.binding]) {
    const [path] = differences(comparable(objectOf(given, model.kind), text), model);
    if (path === undefined) continue;
    throw refusedBundle(`its ${model.kind} is not as it should be at "${path}"`);
  }
  return { ...bundle, server };
}

/** The objects of a Grant's bundle. */
export function bundleFor(
  name: string,
  kubeconfig: string,
  spec: Omit<BindingSpec, "connectionRef">,
): Omit<Bundle, "server"> {
  return {
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: CONSUMER_NAMESPACE },
      type: "Opaque",
      stringData: { [KUBECONFIG_KEY]: kubeconfig },
    },
    connection: {
      apiVersion: CORE_API_VERSION,
      kind: "Connection",
      metadata: { name },
      spec: { kubeconfigSecretRef: { namespace: CONSUMER_NAMESPACE, name, key: KUBECONFIG_KEY } },
    },
    binding: {
      apiVersion: CORE_API_VERSION,
      kind: "ClusterBinding",
      metadata: { name },
      spec: { connectionRef: { name }, ...spec },
    },
  };
}

/** The kubeconfig was checked and replaced already; a Secret without a type is Opaque. */
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

function specOf({ spec }: Record<string, unknown>): Omit<BindingSpec, "connectionRef"> {
  try {
    return parseBindingSpec(spec, "spec");
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw refusedBundle(`its ClusterBinding is not as it should be: ${error.message}`);
  }
}

const refusedBundle = (reason: string) => refused("the bundle", reason);
