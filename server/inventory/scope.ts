import type { Grant, ObjectMeta } from "../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, isBoundaryName } from "../../common/api/names.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { HeartbeatLookup } from "./attribution.ts";
import { ClusterList } from "./clusters.ts";
import { apiNamesOf } from "./instances.ts";
import { KeptViews } from "./kept_views.ts";
import type { LeaveOut } from "./leave_out.ts";
import { Memo, type Version } from "./memo.ts";
import { type Origins, originsOf, reusing, textsOf } from "./origins.ts";
import { Snapshot } from "./snapshot.ts";

/** Whose inventory is shown: that of everyone, or that of one identity. */
export interface Scope {
  /** The boundary of the identity; undefined for everyone. */
  readonly boundary: string | undefined;
  grants(): Iterable<Grant>;
  /** Returns the APIs of the Grants, each once. */
  apiNames(): readonly string[];
  origins(): ShownOrigins;
  readonly clusterList: ClusterList;
  /** Keeps the answer that lists the clusters. */
  clusters(): Snapshot;
}

/** The origins of the objects of a scope. */
export interface ShownOrigins extends Origins {
  /** Stays equal as long as the texts do; see `textsOf`. */
  readonly version: Version;
  isVisible(metadata: ObjectMeta): boolean;
}

/** What scopes read. */
export interface ScopeSources {
  readonly grants: Pick<Cache<Grant, "boundary">, "values" | "find">;
  readonly heartbeats: HeartbeatLookup;
  /** Counts the changes so far. */
  readonly changes: { readonly grants: () => number; readonly heartbeats: () => number };
  readonly leaveOut?: LeaveOut;
}

/** Returns the function that gives the scope of a subject, and that of everyone without one. */
export function scopes(sources: ScopeSources): (subject?: string) => Scope {
  const all = everyone(sources);
  const own = ownScopes(sources);
  return (subject) => subject === undefined ? all : own(subject);
}

/** Everyone's parts cost much, so each is kept until its sources change. */
function everyone({ grants, heartbeats, changes, leaveOut }: ScopeSources): Scope {
  const names = new Memo<readonly string[]>();
  const origins = new Memo<ShownOrigins>();
  const clusters = new Snapshot();
  const all = () => grants.values();
  let last: Origins | undefined;
  return {
    boundary: undefined,
    grants: all,
    apiNames: () => names.get([changes.grants()], () => ({ value: apisOf(all()) })),
    origins: () =>
      origins.get([changes.grants(), changes.heartbeats()], () => {
        const now = originsOf(all, heartbeats, leaveOut);
        last = reusing(last ?? now, now);
        return { value: { ...last, version: textsOf(last), isVisible: () => true } };
      }),
    clusterList: new ClusterList(),
    clusters: () => clusters,
  };
}

/**
 * The scopes of identities that may not see the inventory of all. Each is made of the Grants of
 * the identity and their Leases only, so that no claim in an object or a Lease shows anything of
 * others.
 */
function ownScopes({ grants, heartbeats, leaveOut }: ScopeSources): (subject: string) => Scope {
  const clusterList = new ClusterList();
  const answers = new KeptViews();
  return (subject) => {
    const boundary = boundaryName(subject);
    const own = () =>
      [...grants.find("boundary", boundary)]
        .filter(({ spec }) => spec.identity.subject === subject);
    return {
      boundary,
      grants: own,
      apiNames: () => apisOf(own()),
      origins: () => {
        const granted = own();
        const origins = originsOf(() => granted, heartbeats, leaveOut);
        const names = new Set(granted.map(({ metadata }) => metadata.name));
        return {
          ...origins,
          version: [JSON.stringify(textsOf(origins).map((texts) => [...texts]))],
          isVisible: (metadata) => isOwn(metadata, boundary, names),
        };
      },
      clusterList,
      clusters: () => answers.of(subject),
    };
  };
}

const apisOf = (grants: Iterable<Grant>): string[] => [
  ...new Set([...grants].flatMap(apiNamesOf)),
];

/**
 * Returns whether an object belongs to an identity. An object in the boundary does: no Grant of
 * others leads there if the issuer's scope is Namespace. Elsewhere the object must name a Grant of
 * the identity, and must not be in the boundary of another, where that Grant cannot write.
 */
function isOwn(
  { namespace = "", annotations }: ObjectMeta,
  boundary: string,
  grants: ReadonlySet<string>,
): boolean {
  if (isBoundaryName(namespace)) return namespace === boundary;
  return grants.has(annotations?.[ANNOTATIONS.connection] ?? "");
}
