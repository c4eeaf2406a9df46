import { ANNOTATIONS } from "../../common/api/names.ts";
import { isDeleting } from "../../common/api/resources.ts";
import { type AnyBinding, byAge, isNamespaced } from "../any_binding.ts";
import type { ConnectionFacts } from "../consumer_caches.ts";
import { isPaused } from "../pause.ts";
import type { NamespaceCoverage } from "../sync/sync_context.ts";

/** Which bindings cover an API, and through which Connection it is synced. */
export interface ApiCoverage {
  /** The oldest living binding. Its Connection owns the API. */
  readonly owner: AnyBinding;
  readonly connection: string;
  /** Whether the owner or its Connection is paused, so that not even the CRD may change. */
  readonly isPaused: boolean;
  /** The coverage as a text that changes when it does. */
  readonly text: string;
  /** Says what the bindings want for objects of a namespace. */
  readonly of: (namespace: string) => NamespaceCoverage;
  /** Returns the binding whose wish counts in a namespace. */
  readonly bindingOf: (namespace: string) => AnyBinding | undefined;
}

const NOT_COVERED: NamespaceCoverage = { coverage: "none", conflictPolicy: "Fail" };

/** Returns whether a binding names an API. */
export const names = (binding: AnyBinding, api: string): boolean =>
  binding.spec.apis.some(({ name }) => name === api);

/**
 * Says which of the bindings covers which namespaces. The oldest living binding owns the API. A
 * ClusterBinding covers all namespaces and wins over a Binding, which covers its own. A binding
 * that is being deleted drains what no living one covers; only then another provider can have the
 * API.
 */
export function coverageOf(
  api: string,
  bindings: Iterable<AnyBinding>,
  connections: ConnectionFacts,
): ApiCoverage | undefined {
  const claims = [...bindings].filter((binding) => names(binding, api)).sort(byAge);
  const [oldest] = claims;
  if (!oldest) return undefined;
  const provider = (binding: AnyBinding) => connections.providerOf(binding.spec.connectionRef.name);
  const next = claims.find((binding) => !isDeleting(binding));
  const owner = next && provider(next) === provider(oldest) ? next : oldest;
  const connection = owner.spec.connectionRef.name;
  const isOurs = (binding: AnyBinding) =>
    binding.spec.connectionRef.name === connection ||
    isDeleting(binding) && provider(binding) === provider(owner);
  const inOrder = claims.filter(isOurs).sort((a, b) =>
    Number(isDeleting(a)) - Number(isDeleting(b)) ||
    Number(isNamespaced(a)) - Number(isNamespaced(b))
  );
  const isStill = (binding: AnyBinding) =>
    isPaused(binding) || connections.isPaused(binding.spec.connectionRef.name);
  const wish = (binding: AnyBinding): NamespaceCoverage =>
    isStill(binding) ? { ...wishOf(binding), coverage: "paused" } : wishOf(binding);
  const bindingOf = (namespace: string) => inOrder.find((binding) => covers(binding, namespace));
  const of = (namespace: string): NamespaceCoverage => {
    const covering = bindingOf(namespace);
    return covering ? wish(covering) : NOT_COVERED;
  };
  const text = JSON.stringify([
    connection,
    inOrder.map((binding) => [binding.metadata.uid, ...Object.values(wish(binding))]),
  ]);
  return { owner, connection, isPaused: isStill(owner), text, of, bindingOf };
}

/** Returns whether an object of a namespace belongs to a binding. */
export const covers = (binding: AnyBinding, namespace: string): boolean =>
  !isNamespaced(binding) || binding.metadata.namespace === namespace;

function wishOf(binding: AnyBinding): NamespaceCoverage {
  const { conflictPolicy = "Fail" } = binding.spec;
  if (!isDeleting(binding)) return { coverage: "sync", conflictPolicy };
  const policy = binding.metadata.annotations?.[ANNOTATIONS.deletionPolicy];
  return { coverage: policy === "Orphan" ? "orphan" : "drain", conflictPolicy };
}
