import type { WriteKind } from "./kill_matrix.ts";

const ADDS_CLEANUP = /"finalizers":\[[^\]]*core\.xbind\.io\/cleanup/;
const REMOVES_CLEANUP = /"finalizers":\[(?![^\]]*core\.xbind\.io\/cleanup)/;
/** An apply with this version can only create. */
const CREATE_ONLY = /"resourceVersion":"1"/;
const WITH_UID = /"uid":"/;

/**
 * Every write of a konnector. A new write needs a row here, and a step in the crash matrix that
 * causes it.
 */
export const KONNECTOR_WRITES: readonly WriteKind[] = [
  {
    name: "Connection finalizer add",
    on: "consumer",
    what: "patch connections",
    body: ADDS_CLEANUP,
  },
  {
    name: "Connection finalizer remove",
    on: "consumer",
    what: "patch connections",
    body: REMOVES_CLEANUP,
  },
  {
    name: "Connection status",
    on: "consumer",
    what: "patch connections/status",
    isRepeated: true,
  },
  { name: "Secret finalizer add", on: "consumer", what: "patch secrets", body: ADDS_CLEANUP },
  { name: "Secret finalizer remove", on: "consumer", what: "patch secrets", body: REMOVES_CLEANUP },
  {
    name: "binding finalizer add",
    on: "consumer",
    what: "patch clusterbindings",
    body: ADDS_CLEANUP,
  },
  {
    name: "binding finalizer remove",
    on: "consumer",
    what: "patch clusterbindings",
    body: REMOVES_CLEANUP,
  },
  {
    name: "binding status",
    on: "consumer",
    what: "patch clusterbindings/status",
    isRepeated: true,
  },
  { name: "autoBind create", on: "consumer", what: "patch clusterbindings", body: CREATE_ONLY },
  { name: "autoBind delete", on: "consumer", what: "delete clusterbindings" },
  {
    name: "namespaced finalizer add",
    on: "consumer",
    what: "patch bindings",
    body: ADDS_CLEANUP,
  },
  {
    name: "namespaced finalizer remove",
    on: "consumer",
    what: "patch bindings",
    body: REMOVES_CLEANUP,
  },
  { name: "namespaced status", on: "consumer", what: "patch bindings/status", isRepeated: true },
  {
    name: "CRD hand-over",
    on: "consumer",
    what: "patch customresourcedefinitions",
    body: /"annotations":\{"core\.xbind\.io\/connection":"[^"]*"\}/,
  },
  {
    name: "CRD create",
    on: "consumer",
    what: "patch customresourcedefinitions",
    body: CREATE_ONLY,
  },
  { name: "CRD update", on: "consumer", what: "patch customresourcedefinitions", body: WITH_UID },
  { name: "CRD delete", on: "consumer", what: "delete customresourcedefinitions" },
  {
    name: "finalizer add",
    on: "consumer",
    what: "patch objects",
    body: /"op":"add","path":"\/metadata\/finalizers/,
  },
  {
    name: "finalizer remove",
    on: "consumer",
    what: "patch objects",
    body: /"op":"remove","path":"\/metadata\/finalizers/,
  },
  {
    name: "conflict mark",
    on: "consumer",
    what: "patch objects",
    body: /"annotations":\{"core\.xbind\.io\/conflict":"/,
  },
  {
    name: "conflict clear",
    on: "consumer",
    what: "patch objects",
    body: /"op":"remove","path":"\/metadata\/annotations\/core\.xbind\.io~1conflict"/,
  },
  {
    name: "error mark",
    on: "consumer",
    what: "patch objects",
    body: /"annotations":\{"core\.xbind\.io\/sync-error":"/,
  },
  {
    name: "error clear",
    on: "consumer",
    what: "patch objects",
    body: /"op":"remove","path":"\/metadata\/annotations\/core\.xbind\.io~1sync-error"/,
  },
  { name: "status", on: "consumer", what: "patch objects/status" },
  { name: "Event", on: "consumer", what: "create events" },
  ...(["consumer", "provider"] as const).flatMap((on): WriteKind[] => [
    { name: `related create on the ${on}`, on, what: "patch secrets", body: CREATE_ONLY },
    { name: `related update on the ${on}`, on, what: "patch secrets", body: WITH_UID },
    { name: `related delete on the ${on}`, on, what: "delete secrets" },
  ]),
  { name: "namespace of a related copy", on: "consumer", what: "create namespaces" },
  { name: "heartbeat create", on: "provider", what: "create leases" },
  { name: "heartbeat renew", on: "provider", what: "patch leases", isRepeated: true },
  { name: "heartbeat delete", on: "provider", what: "delete leases" },
  { name: "namespace create", on: "provider", what: "create namespaces" },
  { name: "copy create", on: "provider", what: "patch objects", body: CREATE_ONLY },
  {
    name: "copy adopt",
    on: "provider",
    what: "patch objects",
    body: WITH_UID,
    object: "adopted",
  },
  { name: "copy update", on: "provider", what: "patch objects", body: WITH_UID },
  { name: "copy delete", on: "provider", what: "delete objects" },
];
