import { useMemo } from "hono/jsx/dom";
import { clusterLabels } from "../../common/api/cluster_labels.ts";
import type { Clusters, PendingGrant } from "../../common/api/wire.ts";
import { ClusterCard } from "../components/cluster_card.tsx";
import { PlusIcon } from "../components/icons.tsx";
import { Empty, LoadFailure, Skeleton, StaleNotice } from "../components/load_states.tsx";
import { Notice } from "../components/notice.tsx";
import { PendingList } from "../components/pending_list.tsx";
import { SearchField } from "../components/search_field.tsx";
import { useGrowing } from "../hooks/use_growing.ts";
import { type ClusterRows, clusterRows } from "../logic/cluster_rows.ts";
import type { ClusterFilter, Place } from "../logic/place.ts";
import type { Polled } from "../logic/poller.ts";
import { type SharedGrant, sharedGrants } from "../logic/shared_grants.ts";
import { leftOut } from "../logic/unknown_parts.ts";

const STEP = 20;
/** Limits the pending Grants above the clusters; their filter shows all of them. */
const PENDING_BESIDE_CLUSTERS = 5;
const FILTERS: readonly {
  readonly state: ClusterFilter;
  readonly label: string;
}[] = [
  { state: "all", label: "All" },
  { state: "live", label: "Live" },
  { state: "silent", label: "Silent" },
  { state: "pending", label: "Never connected" },
];

interface ClustersProps {
  readonly clusters: Polled<Clusters>;
  /** Maps names of Exports to titles. */
  readonly titles: ReadonlyMap<string, string>;
  readonly place: Place;
  readonly isMine: (pending: PendingGrant) => boolean;
  readonly onChange: (change: Partial<Place>) => void;
  readonly onOpen: (exportName: string) => void;
  readonly onBind: (exportName: string) => void;
  readonly onConnect: () => void;
  readonly onRetry: () => void;
}

/** Shows the consumer clusters, and whether they are live. */
export function ClustersView(props: ClustersProps) {
  const { place, onChange, onConnect, onRetry } = props;
  const { data, error, currentAtMs } = props.clusters;
  const rows = useMemo(
    () => data && clusterRows(data, place.search, place.state),
    [data, place.search, place.state],
  );
  const shared = useMemo(() => sharedGrants(data?.clusters ?? []), [data]);
  const names = useMemo(() => {
    const labelOf = clusterLabels(data?.clusters ?? []);
    return new Map(data?.clusters.map((cluster) => [cluster.uid, labelOf(cluster)]));
  }, [data]);
  return (
    <>
      <div class="view-head">
        <h1 class="view-title">Clusters</h1>
        <p class="count-text" role="status">{rows ? countText(rows) : ""}</p>
        <button type="button" class="button button-main view-action" onClick={onConnect}>
          <PlusIcon /> Connect a cluster
        </button>
      </div>
      <div class="tools" role="search">
        <SearchField
          label="Search clusters"
          value={place.search}
          onSearch={(text) => onChange({ search: text })}
        />
        <div class="choices" role="group" aria-label="State">
          {FILTERS.map(({ state, label }) => (
            <button
              key={state}
              type="button"
              aria-pressed={state === place.state ? "true" : "false"}
              onClick={() => onChange({ state })}
            >
              {label} <span class="count">{rows?.counts[state] ?? ""}</span>
            </button>
          ))}
        </div>
      </div>
      {data && error ? <StaleNotice error={error} sinceMs={currentAtMs} onRetry={onRetry} /> : null}
      {data && leftOut(data).length > 0
        ? (
          <Notice tone="warning" role="status" title="Some clusters are not shown">
            {leftOut(data).map((sentence) => <p key={sentence}>{sentence}</p>)}
          </Notice>
        )
        : null}
      {!data && error ? <LoadFailure what="the clusters" error={error} onRetry={onRetry} /> : null}
      {!data && !error
        ? <Skeleton label="Loading the clusters" rows={3} shape="skeleton-rows" />
        : null}
      {data && rows
        ? <Rows {...props} data={data} rows={rows} shared={shared} names={names} />
        : null}
    </>
  );
}

const countText = (
  { counts: { live, silent, pending } }: ClusterRows,
): string => `${live} live, ${silent} silent, ${pending} never connected`;

function Rows(
  {
    data,
    rows,
    shared,
    names,
    titles,
    place,
    isMine,
    onChange,
    onOpen,
    onBind,
    onConnect,
  }:
    & ClustersProps
    & {
      data: Clusters;
      rows: ClusterRows;
      shared: ReadonlyMap<string, SharedGrant>;
      names: ReadonlyMap<string, string>;
    },
) {
  const { limit, more, endRef } = useGrowing(`${place.search}\n${place.state}`, STEP);
  if (data.clusters.length === 0 && !data.pending?.length) {
    return (
      <Empty title="No cluster is connected">
        <p>
          Install the konnector in a cluster and bind a service from the catalog.
        </p>
        <button type="button" class="button" onClick={onConnect}>
          How to connect
        </button>
      </Empty>
    );
  }
  if (rows.clusters.length === 0 && rows.pending.length === 0) {
    return (
      <Empty title="No cluster matches">
        <button type="button" class="button" onClick={() => onChange({ search: "", state: "all" })}>
          Clear search and filter
        </button>
      </Empty>
    );
  }
  const isPendingOnly = place.state === "pending" || rows.clusters.length === 0;
  const left = (isPendingOnly ? rows.pending : rows.clusters).length - limit;
  return (
    <>
      {rows.pending.length > 0
        ? (
          <PendingList
            pending={rows.pending.slice(0, isPendingOnly ? limit : PENDING_BESIDE_CLUSTERS)}
            total={rows.pending.length}
            titles={titles}
            isMine={isMine}
            onBind={onBind}
            onShowAll={isPendingOnly ? undefined : () => onChange({ state: "pending" })}
          />
        )
        : null}
      {rows.clusters.length > 0
        ? (
          <section class="section" aria-labelledby="clusters-title">
            <h2 id="clusters-title" class="section-title">
              Connected clusters <span class="count">{rows.clusters.length}</span>
            </h2>
            <ul class="clusters" role="list">
              {rows.clusters.slice(0, limit).map((cluster) => (
                <li key={cluster.uid}>
                  <ClusterCard
                    cluster={cluster}
                    names={names}
                    titles={titles}
                    shared={shared}
                    onOpen={onOpen}
                  />
                </li>
              ))}
            </ul>
          </section>
        )
        : null}
      {left > 0
        ? (
          <div class="grow" ref={endRef}>
            <button type="button" class="button" onClick={more}>
              Show more ({left} left)
            </button>
          </div>
        )
        : null}
    </>
  );
}
