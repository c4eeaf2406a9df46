import { useLayoutEffect, useMemo, useRef } from "hono/jsx/dom";
import type { Catalog } from "../../common/api/wire.ts";
import { ExportCard } from "../components/export_card.tsx";
import { Empty, LoadFailure, Skeleton, StaleNotice } from "../components/load_states.tsx";
import { SearchField } from "../components/search_field.tsx";
import { useGrowing } from "../hooks/use_growing.ts";
import type { BoundState } from "../logic/bound_exports.ts";
import { type CatalogSection, catalogSections, firstOf } from "../logic/catalog_sections.ts";
import { fragmentOf, type Place, START } from "../logic/place.ts";
import type { Polled } from "../logic/poller.ts";
import { searchIndex } from "../logic/search_index.ts";

/** Limits how many cards are rendered in one task. */
const STEP = 12;

/** Shows the services of the provider, to search, read about and bind. */
export function CatalogView(
  { catalog, bound, place, onChange, onOpen, onBind, onRetry }: {
    catalog: Polled<Catalog>;
    bound: ReadonlyMap<string, BoundState>;
    place: Place;
    onChange: (change: Partial<Place>) => void;
    onOpen: (name: string) => void;
    onBind: (name: string) => void;
    onRetry: () => void;
  },
) {
  const { data, error, currentAtMs } = catalog;
  const index = useMemo(() => data && searchIndex(data), [data]);
  const { search, collection, boundOnly } = place;
  const sections = useMemo(
    () =>
      data
        ? catalogSections(data, {
          found: index?.(search),
          collection,
          bound: boundOnly ? new Set(bound.keys()) : undefined,
        })
        : [],
    [data, search, collection, boundOnly, bound],
  );
  return (
    <>
      <div class="view-head">
        <h1 class="view-title">Catalog</h1>
        <p class="count-text" role="status">
          {data ? countText(data, sections) : ""}
        </p>
      </div>
      <div class="tools" role="search">
        <SearchField
          label="Search services"
          value={search}
          onSearch={(text) => onChange({ search: text })}
        />
        {data?.collections
          ? (
            <select
              class="input select"
              aria-label="Collection"
              value={collection}
              onChange={(event: Event) =>
                onChange({ collection: (event.target as HTMLSelectElement).value })}
            >
              <option value="">All collections</option>
              {data.collections.map(({ name, title }) => (
                <option key={name} value={name}>{title}</option>
              ))}
            </select>
          )
          : null}
        <button
          type="button"
          class="button toggle"
          aria-pressed={boundOnly ? "true" : "false"}
          onClick={() => onChange({ boundOnly: !boundOnly })}
        >
          Bound by me
        </button>
      </div>
      {data && error ? <StaleNotice error={error} sinceMs={currentAtMs} onRetry={onRetry} /> : null}
      {!data && error ? <LoadFailure what="the catalog" error={error} onRetry={onRetry} /> : null}
      {!data && !error
        ? <Skeleton label="Loading the catalog" rows={6} shape="skeleton-cards" />
        : null}
      {data && sections.length === 0
        ? (
          <NothingFound
            isCatalogEmpty={data.exports.length === 0}
            place={place}
            onChange={onChange}
          />
        )
        : null}
      <Sections
        sections={sections}
        filter={`${search}\n${collection}\n${boundOnly}`}
        bound={bound}
        onOpen={onOpen}
        onBind={onBind}
      />
    </>
  );
}

function countText({ exports }: Catalog, sections: readonly CatalogSection[]): string {
  const shown = new Set(sections.flatMap((section) => section.exports)).size;
  const services = exports.length === 1 ? "1 service" : `${exports.length} services`;
  return shown === exports.length ? services : `${shown} of ${services}`;
}

function NothingFound(
  { isCatalogEmpty, place, onChange }: {
    isCatalogEmpty: boolean;
    place: Place;
    onChange: (change: Partial<Place>) => void;
  },
) {
  if (isCatalogEmpty) {
    return (
      <Empty title="Nothing is offered yet">
        <p>
          Services appear here as soon as the provider publishes an Export that is Ready.
        </p>
      </Empty>
    );
  }
  const isBoundOnly = place.boundOnly && !place.search && !place.collection;
  return (
    <Empty title={isBoundOnly ? "You have not bound anything yet" : "No service matches"}>
      <button
        type="button"
        class="button"
        onClick={() => onChange({ search: "", collection: "", boundOnly: false })}
      >
        {isBoundOnly ? "Show all services" : "Clear search and filters"}
      </button>
    </Empty>
  );
}

function Sections(
  { sections, filter, bound, onOpen, onBind }: {
    sections: readonly CatalogSection[];
    /** Changes when the view shows other Exports. */
    filter: string;
    bound: ReadonlyMap<string, BoundState>;
    onOpen: (name: string) => void;
    onBind: (name: string) => void;
  },
) {
  const { limit, more, endRef } = useGrowing(filter, STEP);
  const box = useRef<HTMLElement | null>(null);
  // Remove the container first: hundreds of cards then disappear at once, before they unmount.
  useLayoutEffect(() => {
    const drawn = box.current;
    return () => drawn?.remove();
  }, [filter]);
  const total = sections.reduce((sum, { exports }) => sum + exports.length, 0);
  const sizes = new Map(sections.map(({ key, exports }) => [key, exports.length]));
  return (
    <div key={filter} ref={box}>
      {firstOf(sections, limit).map(({ key, title, description, exports }) => (
        <section key={key} class="section" aria-labelledby={`section-${key}`}>
          <h2 id={`section-${key}`} class="section-title">
            <span dir="auto">{title}</span> <span class="count">{sizes.get(key)}</span>
          </h2>
          {description ? <p class="section-text" dir="auto">{description}</p> : null}
          <ul class="cards" role="list">
            {exports.map((offer) => (
              <li key={offer.name}>
                <ExportCard
                  offer={offer}
                  bound={bound.get(offer.name)}
                  href={fragmentOf({ ...START, overlay: { kind: "details", export: offer.name } })}
                  onOpen={onOpen}
                  onBind={onBind}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {limit < total
        ? (
          <div class="grow" ref={endRef}>
            <button type="button" class="button" onClick={more}>
              Show more ({total - limit} left)
            </button>
          </div>
        )
        : null}
    </div>
  );
}
