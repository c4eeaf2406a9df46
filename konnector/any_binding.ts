import type { Binding, ClusterBinding } from "../common/api/resources.ts";

/** A binding of either kind. */
export type AnyBinding = ClusterBinding | Binding;

/** Returns whether a binding is for one namespace. */
export const isNamespaced = ({ kind }: AnyBinding): boolean => kind === "Binding";

/** Orders bindings by age, the oldest first. */
export function byAge(a: AnyBinding, b: AnyBinding): number {
  const [x, y] = [a, b].map(({ kind, metadata: { creationTimestamp, name, namespace = "" } }) =>
    `${creationTimestamp} ${kind === "Binding" ? 1 : 0} ${namespace}/${name}`
  );
  return (x ?? "") < (y ?? "") ? -1 : 1;
}
