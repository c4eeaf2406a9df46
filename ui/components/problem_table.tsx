import type { NamedCluster } from "../../common/api/cluster_labels.ts";
import type { Problem } from "../../common/api/wire.ts";

/** Returns what a cluster is called in a list. */
export type LabelOf = (cluster: NamedCluster) => string;

/** Lists the objects that konnectors cannot sync, with their reasons. */
export function ProblemTable(
  { problems, more, labelOf }: {
    problems: readonly Problem[];
    /** How many further ones are not listed. */
    more: number;
    labelOf: LabelOf;
  },
) {
  return (
    <div class="table-frame">
      <table class="table">
        <caption class="unseen">Objects that are not synced</caption>
        <thead>
          <tr>
            <th scope="col">Not synced</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {problems.map((row) => <ProblemRow key={keyOf(row)} row={row} labelOf={labelOf} />)}
        </tbody>
      </table>
      {more > 0
        ? <p class="muted small table-note">{`and ${more} more that are not synced`}</p>
        : null}
    </div>
  );
}

const keyOf = ({ clusterUID, api, namespace, name }: Problem): string =>
  [clusterUID, api, namespace, name].join("/");

function ProblemRow({ row, labelOf }: { row: Problem; labelOf: LabelOf }) {
  const { api, namespace, name, reason, message, clusterUID, clusterName, identity } = row;
  return (
    <tr>
      <td data-label="Not synced">
        <span class="object-name" dir="ltr">{namespace ? `${namespace}/${name}` : name}</span>
        <span class="muted small" dir="ltr">{api}</span>
        <span class="muted small" dir="auto">{identity ?? ""}</span>
        <ClusterName uid={clusterUID} name={clusterName} labelOf={labelOf} />
      </td>
      <td data-label="Reason">
        <span class="problem" dir="ltr">{reason}</span>
        <span class="muted small problem-text" dir="auto">{message}</span>
      </td>
    </tr>
  );
}

/** Shows what a cluster is called, with its UID as a tooltip; the UID itself if it has no name. */
export function ClusterName(
  { uid, name, labelOf }: { uid: string; name: string | undefined; labelOf: LabelOf },
) {
  return name === undefined
    ? <span class="muted small mono" title="UID of the cluster" dir="ltr">{uid}</span>
    : <span class="muted small" title={`Cluster ${uid}`} dir="ltr">{labelOf({ uid, name })}</span>;
}
