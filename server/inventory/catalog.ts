import { type Collection, type Export, isDeleting, isReady } from "../../common/api/resources.ts";
import type {
  Catalog,
  CatalogCollection,
  CatalogExport,
  CatalogRelatedResource,
} from "../../common/api/wire.ts";
import { compare, selectorSummary } from "./selector.ts";
import { list, optionalText, text } from "./spec_fields.ts";

/** Told about an object that could not be read and was left out. */
export type ReportBroken = (
  object: { readonly kind: string; readonly metadata: Export["metadata"] },
  error: unknown,
) => void;

/** What the provider offers: Exports that are Ready and stay, and Collections that show at least one of them. */
export function catalogOf(
  exports: Iterable<Export>,
  collections: Iterable<Collection>,
  report: ReportBroken = () => {},
): Catalog {
  const offers = readable(
    exports,
    // As a bind has it: what is going cannot be bound, even while it is Ready.
    (offer) => isReady(offer) && !isDeleting(offer) ? exportEntry(offer) : undefined,
    report,
  );
  const visible = new Set(offers.map(({ name }) => name));
  const groups = readable(collections, (each) => collectionEntry(each, visible), report);
  return { exports: offers, ...(groups.length > 0 ? { collections: groups } : {}) };
}

/** The entries of all readable objects by name; one broken object costs nobody else. */
function readable<T extends Export | Collection, E extends { readonly name: string }>(
  objects: Iterable<T>,
  entry: (object: T) => E | undefined,
  report: ReportBroken,
): E[] {
  const entries: E[] = [];
  for (const object of objects) {
    try {
      const made = entry(object);
      if (made) entries.push(made);
    } catch (error) {
      report(object, error);
    }
  }
  return entries.sort((a, b) => compare(a.name, b.name));
}

function exportEntry({ metadata, spec }: Export): CatalogExport {
  const description = optionalText(spec.description, "description");
  const iconURL = optionalText(spec.icon?.url, "icon.url");
  const docs = optionalText(spec.docs, "docs");
  const related = list(spec.defaults?.relatedResources ?? [], "defaults.relatedResources");
  return {
    name: metadata.name,
    title: text(spec.title, "title"),
    ...(description ? { description } : {}),
    apis: list(spec.apis, "apis").map(({ name }) => text(name, "apis.name")),
    ...(iconURL ? { iconURL } : {}),
    ...(docs ? { docs } : {}),
    ...(related.length > 0 ? { relatedResources: related.map(relatedEntry) } : {}),
  };
}

function relatedEntry(
  { resource, direction, selector }: CatalogRule,
): CatalogRelatedResource {
  const summary = selectorSummary(selector);
  return {
    resource: text(resource, "relatedResources.resource"),
    direction: text(direction, "relatedResources.direction") as typeof direction,
    ...(summary ? { selector: summary } : {}),
  };
}

type CatalogRule = NonNullable<NonNullable<Export["spec"]["defaults"]>["relatedResources"]>[number];

function collectionEntry(
  { metadata, spec }: Collection,
  visible: ReadonlySet<string>,
): CatalogCollection | undefined {
  const members = list(spec.exports, "exports").map(({ name }) => name);
  const exports = members.filter((name) => visible.has(name));
  if (exports.length === 0) return undefined;
  const description = optionalText(spec.description, "description");
  return {
    name: metadata.name,
    title: text(spec.title, "title"),
    ...(description ? { description } : {}),
    exports,
  };
}
