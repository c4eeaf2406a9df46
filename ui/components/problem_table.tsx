import type { Problem } from "../../common/api/wire.ts";

/** Lists the objects that konnectors cannot sync, with their reasons. */
export function ProblemTable({ problems }: { problems: readonly Problem[] }) {
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
          {problems.map((row) => <ProblemRow key={keyOf(row)} row={row} />)}
        </tbody>
      </table>
    </div>
  );
}

const keyOf = ({ clusterUID, api, namespace, name }: Problem): string =>
  [clusterUID, api, namespace, name].join("/");

function ProblemRow({ row }: { row: Problem }) {
  const { api, namespace, name, reason, message, clusterUID, clusterName, identity } = row;
  return (
    <tr>
      <td data-label="Not synced">
        <span class="object-name" dir="ltr">{namespace ? `${namespace}/${name}` : name}</span>
        <span class="muted small" dir="ltr">{api}</span>
        <span class="muted small" dir="auto">{identity ?? ""}</span>
        <ClusterName uid={clusterUID} name={clusterName} />
      </td>
      <td data-label="Reason">
        <span class="problem" dir="ltr">{reason}</span>
        <span class="muted small problem-text" dir="auto">{message}</span>
      </td>
    </tr>
  );
}

/** Shows the name of a cluster, with its UID as a tooltip; the UID itself if it has no name. */
export function ClusterName({ uid, name }: { uid: string; name: string | undefined }) {
  return name === undefined
    ? <span class="muted small mono" title="UID of the cluster" dir="ltr">{uid}</span>
    : <span class="muted small" title={`Cluster ${uid}`} dir="ltr">{name}</span>;
}
