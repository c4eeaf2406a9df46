import type { ProviderLink } from "../connections/provider_link.ts";
import { may } from "../../common/kube/rights.ts";
import type { BoundType, NamespaceCoverage } from "../sync/sync_context.ts";
import type { ApiCoverage } from "./coverage.ts";

/** Where the credential may use an API. */
export type Reach =
  | { readonly kind: "all" }
  | { readonly kind: "one"; readonly namespace: string }
  | { readonly kind: "none" };

/** Asks the provider where the credential may list the API: everywhere, or in its boundary. */
export async function reachOf(
  { kube, boundary }: ProviderLink,
  { group, plural, namespaced }: BoundType,
  signal: AbortSignal,
): Promise<Reach> {
  const mayList = (namespace?: string) =>
    may(kube, { verb: "list", group, resource: plural, ...(namespace && { namespace }) }, signal);
  if (await mayList()) return { kind: "all" };
  if (namespaced && boundary && await mayList(boundary)) {
    return { kind: "one", namespace: boundary };
  }
  return { kind: "none" };
}

const NOT_COVERED: NamespaceCoverage = { coverage: "none", conflictPolicy: "Fail" };

/** Restricts what the bindings want to the namespaces that the credential reaches. */
export function withinReach(
  state: { readonly coverage: ApiCoverage; readonly reach?: Reach } | undefined,
  namespace: string,
): NamespaceCoverage {
  if (!state) return NOT_COVERED;
  const wish = state.coverage.of(namespace);
  const { reach } = state;
  const isReached = reach?.kind === "all" || reach?.kind === "one" && reach.namespace === namespace;
  return isReached || wish.coverage === "none" ? wish : { ...wish, coverage: "outOfReach" };
}
