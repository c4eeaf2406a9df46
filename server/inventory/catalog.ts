import {
  type Collection,
  type Export,
  isDeleting,
  isReady,
  type RelatedResourceSelector,
} from "../../common/api/resources.ts";
import type {
  Catalog,
  CatalogCollection,
  CatalogExport,
  CatalogRelatedResource,
} from "../../common/api/wire.ts";
import { anything, type Infer, known, list, record, type Shape, text } from "../../common/shape.ts";
import type { LeaveOut } from "./leave_out.ts";
import { compare, selectorSummary } from "../../common/api/selector.ts";

/** The fields of a related-resource rule that the catalog shows. */
const RELATED = record({
  resource: text(),
  direction: known("FromProvider", "FromConsumer"),
}, { selector: anything() as Shape<RelatedResourceSelector> }); // selectorSummary() checks it
/** The fields of an Export that the catalog shows. */
const EXPORT_SPEC = record({ title: text(), apis: list(record({ name: text() })) }, {
  description: text(),
  icon: record({}, { url: text() }),
  docs: text(),
  defaults: record({}, { relatedResources: list(RELATED) }),
});
/** The fields of a Collection that the catalog shows. */
const COLLECTION_SPEC = record({ title: text(), exports: list(record({ name: text() })) }, {
  description: text(),
});

/** Lists the Exports that are Ready and not being deleted, and the Collections that show any. */
export function catalogOf(
  exports: Iterable<Export>,
  collections: Iterable<Collection>,
  leaveOut: LeaveOut = () => {},
): Catalog {
  const offers = readable(
    exports,
    // A bind refuses an Export that is being deleted, even while it is Ready.
    (offer) => isReady(offer) && !isDeleting(offer) ? exportEntry(offer) : undefined,
    leaveOut,
  );
  const visible = new Set(offers.map(({ name }) => name));
  const groups = readable(collections, (each) => collectionEntry(each, visible), leaveOut);
  return { exports: offers, ...(groups.length > 0 ? { collections: groups } : {}) };
}

/** Returns the entries of all readable objects by name, and leaves the others out. */
function readable<T extends Export | Collection, E extends { readonly name: string }>(
  objects: Iterable<T>,
  entry: (object: T) => E | undefined,
  leaveOut: LeaveOut,
): E[] {
  const entries: E[] = [];
  for (const object of objects) {
    try {
      const made = entry(object);
      if (made) entries.push(made);
    } catch (error) {
      leaveOut(object, error);
    }
  }
  return entries.sort((a, b) => compare(a.name, b.name));
}

function exportEntry({ metadata, spec }: Export): CatalogExport {
  const { title, description, apis, icon, docs, defaults } = EXPORT_SPEC.parse(spec, "spec");
  const related = defaults?.relatedResources ?? [];
  return {
    name: metadata.name,
    title,
    ...(description ? { description } : {}),
    apis: apis.map(({ name }) => name),
    ...(icon?.url ? { iconURL: icon.url } : {}),
    ...(docs ? { docs } : {}),
    ...(related.length > 0 ? { relatedResources: related.map(relatedEntry) } : {}),
  };
}

function relatedEntry(
  { resource, direction, selector }: Infer<typeof RELATED>,
): CatalogRelatedResource {
  const summary = selectorSummary(selector);
  return { resource, direction, ...(summary ? { selector: summary } : {}) };
}

function collectionEntry(
  { metadata, spec }: Collection,
  visible: ReadonlySet<string>,
): CatalogCollection | undefined {
  const { title, description, exports } = COLLECTION_SPEC.parse(spec, "spec");
  const shown = exports.map(({ name }) => name).filter((name) => visible.has(name));
  if (shown.length === 0) return undefined;
  return { name: metadata.name, title, ...(description ? { description } : {}), exports: shown };
}
