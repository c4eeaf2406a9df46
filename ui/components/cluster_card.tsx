import type { Cluster, ClusterGrant } from "../../common/api/wire.ts";
import { konnectorVersions, problemsText } from "../logic/cluster_label.ts";
import type { SharedGrant } from "../logic/shared_grants.ts";
import { hasUnknown, syncedText } from "../logic/unknown_parts.ts";
import { Notice } from "./notice.tsx";
import { RelativeTime } from "./relative_time.tsx";

/** Shows one consumer cluster: whether it is live, and its bindings. */
export function ClusterCard(
  { cluster, names, titles, shared, onOpen }: {
    cluster: Cluster;
    /** Maps UIDs of clusters to their names. */
    names: ReadonlyMap<string, string>;
    /** Maps names of Exports to titles; the catalog may no longer have an Export. */
    titles: ReadonlyMap<string, string>;
    shared: ReadonlyMap<string, SharedGrant>;
    onOpen: (exportName: string) => void;
  },
) {
  const { uid, name, live, lastHeartbeat, bindings } = cluster;
  const versions = konnectorVersions(cluster);
  return (
    <article
      class="cluster"
      aria-label={name === undefined ? `Cluster ${uid}` : `Cluster ${name}, ${uid}`}
    >
      <header class="cluster-head">
        <span class={`badge badge-${live ? "live" : "silent"}`}>
          <span class="dot" aria-hidden="true" />
          {live ? "Live" : "Silent"}
        </span>
        {name === undefined ? <h3 class="cluster-uid mono" dir="ltr">{uid}</h3> : (
          <>
            <h3 class="cluster-name" dir="ltr">{name}</h3>
            <span class="cluster-uid mono muted small" title="UID of the cluster" dir="ltr">
              {uid}
            </span>
          </>
        )}
        <p class="muted small">
          {versions.length > 0
            ? <span dir="ltr">{`konnector ${versions.join(", ")} · `}</span>
            : null}
          Heartbeat <RelativeTime time={lastHeartbeat} />
        </p>
      </header>
      {bindings.filter(({ grant }) => shared.has(grant)).map(({ grant }) => (
        <SharedNotice
          key={grant}
          grant={grant}
          uid={uid}
          names={names}
          shared={shared.get(grant)}
        />
      ))}
      <div class="table-frame">
        <table class="table">
          <caption class="unseen">What cluster {names.get(uid) ?? uid} has bound</caption>
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">Bound by</th>
              <th scope="col">Synced objects</th>
              <th scope="col">Heartbeat</th>
            </tr>
          </thead>
          <tbody>
            {bindings.map((binding) => (
              <BindingRow
                key={binding.grant}
                binding={binding}
                title={titles.get(binding.export)}
                onOpen={onOpen}
              />
            ))}
          </tbody>
        </table>
      </div>
    </article>
  );
}

function BindingRow(
  { binding, title, onOpen }: {
    binding: ClusterGrant;
    title: string | undefined;
    onOpen: (exportName: string) => void;
  },
) {
  const { grant, export: name, identity, subject, live, lastHeartbeat, apis } = binding;
  const problems = problemsText(binding);
  return (
    <tr>
      <td data-label="Service">
        {title === undefined
          ? <span dir="ltr">{name}</span>
          : (
            <button type="button" class="link" dir="auto" onClick={() => onOpen(name)}>
              {title}
            </button>
          )}
        <span class="muted small mono" title="Grant" dir="ltr">{grant}</span>
      </td>
      <td data-label="Bound by">
        <span title={subject} dir="auto">
          {identity ?? subject ?? "unknown"}
        </span>
      </td>
      <td data-label="Synced">
        {apis.length === 0 ? <span class="muted">not known</span> : (
          <ul class="counts" role="list">
            {apis.map((api) => (
              <li key={api.name}>
                <strong>{syncedText(api)}</strong>{" "}
                <span class="muted small mono" dir="ltr">{api.name}</span>
              </li>
            ))}
          </ul>
        )}
        {binding.sync
          ? <span class="muted small">{`${binding.sync.objects} on the cluster`}</span>
          : null}
        {problems
          ? (
            <button type="button" class="link problem" onClick={() => onOpen(name)}>
              {problems}
            </button>
          )
          : null}
        {hasUnknown(apis)
          ? <span class="muted small">Unknown: the provider cannot list that API now.</span>
          : null}
      </td>
      <td data-label="Heartbeat">
        <span class={`state state-${live ? "live" : "silent"}`}>
          <span class="dot" aria-hidden="true" />
          <span class="unseen">{live ? "Live, " : "Silent, "}</span>
          <RelativeTime time={lastHeartbeat} />
        </span>
      </td>
    </tr>
  );
}

/** Warns of a Grant that several clusters use, because objects of the same name are in conflict. */
function SharedNotice(
  { grant, uid, names, shared }: {
    grant: string;
    uid: string;
    names: ReadonlyMap<string, string>;
    shared: SharedGrant | undefined;
  },
) {
  if (!shared) return null;
  const isNow = shared.liveUids.length > 1;
  const others = (isNow ? shared.liveUids : shared.uids).filter((each) => each !== uid)
    .map((each) => names.get(each) ?? each);
  return (
    <Notice
      tone={isNow ? "warning" : "info"}
      title={isNow
        ? `${shared.liveUids.length} clusters use the same Grant`
        : "Several clusters have used the same Grant"}
    >
      <p>
        <code dir="ltr">{grant}</code> is in use here and in{" "}
        <code dir="ltr">{others.join(", ")}</code>. {isNow
          ? "Of objects with the same name, only the first is synced."
          : "Only one of them is live."}
      </p>
    </Notice>
  );
}
