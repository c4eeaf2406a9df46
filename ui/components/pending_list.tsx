import type { PendingGrant } from "../../common/api/wire.ts";
import { RelativeTime } from "./relative_time.tsx";

/** Lists the Grants that no cluster has used yet. */
export function PendingList(
  { pending, total, titles, isMine, onBind, onShowAll }: {
    /** Holds the first of them. */
    pending: readonly PendingGrant[];
    total: number;
    titles: ReadonlyMap<string, string>;
    isMine: (pending: PendingGrant) => boolean;
    onBind: (exportName: string) => void;
    /** Undefined if there are no more to show. */
    onShowAll: (() => void) | undefined;
  },
) {
  return (
    <section class="pending" aria-labelledby="pending-title">
      <h2 id="pending-title" class="section-title">
        Bound, never connected <span class="count">{total}</span>
      </h2>
      <p class="section-text">
        The credential was issued, but no cluster has sent a heartbeat with it. Apply the bundle and
        check that the konnector runs; bind again for a new bundle.
      </p>
      <div class="table-frame">
        <table class="table">
          <caption class="unseen">Grants that no cluster uses yet</caption>
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">Bound by</th>
              <th scope="col">Bound</th>
              <th scope="col">
                <span class="unseen">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pending.map((each) => {
              const { grant, export: name, identity, createdAt } = each;
              return (
                <tr key={grant}>
                  <td data-label="Service">
                    <span dir="auto">{titles.get(name) ?? name}</span>
                    <span class="muted small mono" title="Grant" dir="ltr">
                      {grant}
                    </span>
                  </td>
                  <td data-label="Bound by">
                    <span dir="auto">{identity ?? "unknown"}</span>
                  </td>
                  <td data-label="Bound">
                    <RelativeTime time={createdAt} />
                  </td>
                  <td class="cell-action">
                    {titles.has(name) && isMine(each)
                      ? (
                        <button
                          type="button"
                          class="button"
                          aria-label={`Bind again: ${titles.get(name)}`}
                          onClick={() => onBind(name)}
                        >
                          Bind again
                        </button>
                      )
                      : null}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {onShowAll && total > pending.length
        ? (
          <button type="button" class="button" onClick={onShowAll}>
            Show all {total}
          </button>
        )
        : null}
    </section>
  );
}
