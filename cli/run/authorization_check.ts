import type { Catalog, Me } from "../../common/api/wire.ts";
import { identityHash } from "../../common/api/names.ts";
import { fewOf } from "../../common/few_of.ts";
import { type Check, ok } from "./checks.ts";

const RBAC = "rbac.authorization.k8s.io";
const FEW = 10;

/** The caller, as far as the provider's RBAC decides what the caller may do. */
export type AuthorizedMe = Me & { readonly kubernetes: NonNullable<Me["kubernetes"]> };

/** Returns whether the provider's RBAC decides. */
export const isDecidedByRbac = (me: Me): me is AuthorizedMe => me.kubernetes !== undefined;

/** Says by which names the provider knows the caller, and what an administrator would add. */
export function authorizationCheck({ subject, kubernetes }: AuthorizedMe, catalog: Catalog): Check {
  const { user, groups } = kubernetes;
  const locked = catalog.exports.filter(({ bindable }) => bindable === false)
    .map(({ name }) => name);
  const bindable = catalog.exports.length - locked.length;
  const names = `The provider's RBAC knows you as user ${user} in ${groups.join(", ")}`;
  const mayBind = catalog.bindableUnknown
    ? "the gateway cannot say in advance which Exports you may bind"
    : `you may bind ${bindable} of the Exports you see`;
  const found = ok("authorization", `${names}; ${mayBind}`);
  if (locked.length === 0) return found;
  return {
    ...found,
    remedy:
      `You may not bind ${fewOf(locked, FEW)}. An administrator of the provider would apply this` +
      (locked.length > FEW ? ` for the first ${FEW}` : ""),
    manifests: locked.slice(0, FEW).flatMap((name) => bindManifests(subject, user, name)),
  };
}

/** Builds the role and its binding that let one user bind an Export. Each Export has its own. */
function bindManifests(subject: string, user: string, exportName: string): object[] {
  const name = `xbind-bind-${exportName}-${identityHash(subject).slice(0, 10)}`;
  const metadata = { name };
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      metadata,
      rules: [{
        apiGroups: ["catalog.xbind.io"],
        resources: ["exports"],
        resourceNames: [exportName],
        verbs: ["get", "bind"],
      }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
      subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
    },
  ];
}
