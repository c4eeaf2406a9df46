import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Deployment,
  V1Lease,
  V1Namespace,
  V1ObjectMeta,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import assert from "node:assert/strict";
import type * as ours from "./builtins.ts";

/** Theirs as JSON: times are text, and every field may be absent, as deep as it goes. */
type Json<T> = T extends Date ? string
  : T extends readonly (infer E)[] ? Json<E>[]
  : T extends object ? { [K in keyof T]?: Json<T[K]> }
  : T;

/** The fields of ours that theirs lacks or has with another type; never if there are none. */
type Strays<O, T> = {
  [K in keyof O]-?: K extends keyof T
    ? NonNullable<O[K]> extends Json<NonNullable<T[K]>> ? never : K
    : K;
}[keyof O];

type Agree<O, T> = Strays<O, T> extends never ? true : Strays<O, T>;

Deno.test("our types of built-in kinds agree with those of @kubernetes/client-node", () => {
  const metadata: Agree<ours.ObjectMeta, V1ObjectMeta> = true;
  type Kind<O, T> = Agree<Omit<O, "metadata" | "spec">, T>;
  type Spec<O extends { spec?: unknown }, T extends { spec?: unknown }> = Agree<
    NonNullable<O["spec"]>,
    NonNullable<T["spec"]>
  >;
  const kinds: [
    Kind<ours.Namespace, V1Namespace>,
    Kind<ours.Secret, V1Secret>,
    Kind<ours.ConfigMap, V1ConfigMap>,
    Kind<ours.ServiceAccount, V1ServiceAccount>,
    Kind<ours.Role, V1Role>,
    Kind<ours.RoleBinding, V1RoleBinding>,
    Kind<ours.ClusterRole, V1ClusterRole>,
    Kind<ours.ClusterRoleBinding, V1ClusterRoleBinding>,
    Kind<ours.Lease, V1Lease>,
    Spec<ours.Lease, V1Lease>,
    Kind<ours.Deployment, V1Deployment>,
    Kind<ours.CustomResourceDefinition, V1CustomResourceDefinition>,
  ] = [true, true, true, true, true, true, true, true, true, true, true, true];
  assert.ok(metadata && kinds.every(Boolean)); // the compiler has checked more
});
