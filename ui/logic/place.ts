/** Names the two views of the page. */
export type ViewName = "catalog" | "clusters";

/** Says which clusters are shown. */
export type ClusterFilter = "all" | "live" | "silent" | "pending";

/** Names the dialog over the view. */
export type Overlay =
  | { readonly kind: "details"; readonly export: string }
  | { readonly kind: "bind"; readonly export: string }
  | { readonly kind: "connect" };

/** Holds the state of the page that survives a reload, Back and a login. */
export interface Place {
  readonly view: ViewName;
  readonly search: string;
  /** Names the only Collection to show; empty means all. */
  readonly collection: string;
  readonly boundOnly: boolean;
  readonly state: ClusterFilter;
  readonly overlay: Overlay | undefined;
}

/** Is the place of the start page. */
export const START: Place = {
  view: "catalog",
  search: "",
  collection: "",
  boundOnly: false,
  state: "all",
  overlay: undefined,
};

/** Keeps the login redirect below 2,000 characters, as each character may be encoded as nine. */
const MAX_SEARCH = 100;
const FILTERS: readonly ClusterFilter[] = ["all", "live", "silent", "pending"];

/** Builds the fragment of a place, such as `#/catalog?q=postgres`. */
export function fragmentOf(place: Place): string {
  const query = new URLSearchParams();
  if (place.search) query.set("q", place.search.slice(0, MAX_SEARCH).toWellFormed());
  if (place.view === "catalog") {
    if (place.collection) query.set("collection", place.collection);
    if (place.boundOnly) query.set("bound", "1");
  } else if (place.state !== "all") query.set("state", place.state);
  const { overlay } = place;
  if (overlay?.kind === "details") query.set("export", overlay.export);
  if (overlay?.kind === "bind") query.set("bind", overlay.export);
  if (overlay?.kind === "connect") query.set("connect", "1");
  const text = query.toString();
  return `#/${place.view}${text ? `?${text}` : ""}`;
}

/** Parses the place in a fragment, and ignores invalid parts. */
export function placeOf(fragment: string): Place {
  const [path = "", text = ""] = fragment.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const query = new URLSearchParams(text);
  const view = path === "clusters" ? "clusters" : "catalog";
  const state = FILTERS.find((filter) => filter === query.get("state"));
  return {
    view,
    search: (query.get("q") ?? "").slice(0, MAX_SEARCH),
    collection: view === "catalog" ? query.get("collection") ?? "" : "",
    boundOnly: view === "catalog" && query.get("bound") === "1",
    state: view === "clusters" && state ? state : "all",
    overlay: overlayOf(query),
  };
}

function overlayOf(query: URLSearchParams): Overlay | undefined {
  const bind = query.get("bind");
  if (bind) return { kind: "bind", export: bind };
  const details = query.get("export");
  if (details) return { kind: "details", export: details };
  return query.get("connect") === "1" ? { kind: "connect" } : undefined;
}
