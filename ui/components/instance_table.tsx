import { useLayoutEffect, useState } from "hono/jsx/dom";
import { clusterLabels } from "../../common/api/cluster_labels.ts";
import type { Instance, Instances } from "../../common/api/wire.ts";
import { Empty, LoadFailure, Skeleton } from "./load_states.tsx";
import { ClusterName, type LabelOf, ProblemTable } from "./problem_table.tsx";
import { RelativeTime } from "./relative_time.tsx";

const STEP = 50;

type Reading = Instances | { readonly error: string } | undefined;

/** Lists the objects that consumers have under an Export; loads them when it is opened. */
export function InstanceTable(
  { name, onRead }: {
    name: string;
    onRead: (name: string, signal: AbortSignal) => Promise<Instances>;
  },
) {
  const [reading, setReading] = useState<Reading>(undefined);
  const [tries, setTries] = useState(0);
  const [limit, setLimit] = useState(STEP);
  useLayoutEffect(() => {
    const abort = new AbortController();
    setReading(undefined);
    onRead(name, abort.signal).then(setReading, (error: Error) => {
      if (!abort.signal.aborted) setReading({ error: error.message });
    });
    return () => abort.abort();
  }, [name, tries]);
  if (!reading) {
    return <Skeleton label="Loading instances" rows={1} shape="skeleton-rows" />;
  }
  if ("error" in reading) {
    return (
      <LoadFailure
        what="the instances"
        error={reading.error}
        onRetry={() => setTries(tries + 1)}
      />
    );
  }
  const { instances, problems = [], moreProblems = 0 } = reading;
  const labelOf = clusterLabels(
    [...instances, ...problems].map(({ clusterUID = "", clusterName }) => ({
      uid: clusterUID,
      name: clusterName,
    })),
  );
  const notSynced = problems.length + moreProblems > 0
    ? <ProblemTable problems={problems} more={moreProblems} labelOf={labelOf} />
    : null;
  if (instances.length === 0) {
    return notSynced ?? (
      <Empty title="No objects yet">
        <p>Objects that consumers create with these APIs appear here.</p>
      </Empty>
    );
  }
  const left = instances.length - limit;
  return (
    <>
      {notSynced}
      <div class="table-frame">
        <table class="table">
          <caption class="unseen">Instances</caption>
          <thead>
            <tr>
              <th scope="col">Object</th>
              <th scope="col">From</th>
              <th scope="col">Created</th>
            </tr>
          </thead>
          <tbody>
            {instances.slice(0, limit).map((row) => (
              <InstanceRow key={keyOf(row)} row={row} labelOf={labelOf} />
            ))}
          </tbody>
        </table>
      </div>
      {left > 0
        ? (
          <button type="button" class="button" onClick={() => setLimit(limit + STEP)}>
            Show more ({left} left)
          </button>
        )
        : null}
    </>
  );
}

const keyOf = ({ api, direction, namespace, name }: Instance): string =>
  [api, direction, namespace, name].join("/");

function InstanceRow({ row, labelOf }: { row: Instance; labelOf: LabelOf }) {
  const {
    api,
    related,
    direction,
    namespace,
    name,
    identity,
    clusterUID,
    clusterName,
    createdAt,
  } = row;
  const way = direction === "FromConsumer" ? "copied from the consumer" : "copied to consumers";
  return (
    <tr>
      <td data-label="Object">
        <span class="object-name" dir="ltr">
          {namespace ? `${namespace}/${name}` : name}
        </span>
        <span class="muted small" dir="ltr">{api}</span>
        {related ? <span class="muted small">{way}</span> : null}
      </td>
      <td data-label="From">
        <span dir="auto">{identity ?? (clusterUID ? "" : "the provider")}</span>
        {clusterUID ? <ClusterName uid={clusterUID} name={clusterName} labelOf={labelOf} /> : null}
      </td>
      <td data-label="Created">
        <RelativeTime time={createdAt} />
      </td>
    </tr>
  );
}
