/** A cluster as a row of a list names it. */
export interface NamedCluster {
  readonly uid: string;
  readonly name?: string | undefined;
}

/** How much of a UID tells two clusters of one name apart. */
const UID_PART = 8;

/**
 * Returns a function that labels the clusters of a list: by name, with the first part of the UID if
 * another one has the same name, and by UID without a name.
 */
export function clusterLabels(
  clusters: Iterable<NamedCluster>,
): (cluster: NamedCluster) => string {
  const uids = new Map<string, Set<string>>();
  for (const { uid, name } of clusters) {
    if (name !== undefined) uids.set(name, (uids.get(name) ?? new Set()).add(uid));
  }
  return ({ uid, name }) => {
    if (name === undefined) return uid;
    const isShared = [...uids.get(name) ?? []].some((other) => other !== uid);
    return isShared ? `${name} (${uid.slice(0, UID_PART)})` : name;
  };
}
