import { ESCAPED_CHARACTERS } from "../../common/unsafe_characters.ts";
import type { ListOptions } from "../options.ts";
import { CATALOG_GROUP } from "../../common/api/groups.ts";
import type {
  Catalog,
  Cluster,
  ClusterGrant,
  Clusters,
  Instances,
  SyncedApi,
} from "../../common/api/wire.ts";
import { age } from "./age.ts";
import type { Io } from "./io.ts";
import { linesOf } from "./output.ts";
import { grantLabels, labelsIn } from "./row_labels.ts";
import { table, type TableOptions } from "./table.ts";

/** A list in each of the forms that `-o` can ask for. */
export interface Listing {
  /** For `json` and `yaml`. */
  readonly data: object;
  /** For `name`, one per line. */
  readonly names: readonly string[];
  readonly table: (options: TableOptions & { readonly wide: boolean }) => string[];
  /** Printed to stderr when the table has no rows. */
  readonly empty: string;
  /** Printed to stderr after the table. */
  readonly notes?: readonly string[];
}

/** Prints a list in the form that the flags ask for. */
export const printList = async (io: Io, options: ListOptions, list: Listing): Promise<void> => {
  const { output, headers } = options;
  if (output === "json" || output === "yaml") return await printData(io, output, list.data);
  if (output === "name") return io.out(list.names);
  const lines = list.table({ wide: output === "wide", noHeaders: !headers });
  if (lines.length === 0) io.say(list.empty);
  else io.out(lines);
  for (const note of list.notes ?? []) io.say(`Note: ${note}`);
};

/** Prints a value as JSON or YAML, with every dangerous character escaped. */
export const printData = async (io: Io, form: "json" | "yaml", data: object): Promise<void> => {
  if (form === "json") return io.out(linesOf(safeJson(data)));
  const { toYaml } = await import("../../common/yaml.ts");
  io.out(linesOf(toYaml([data])));
};

/** Formats JSON with every dangerous character escaped. */
export const safeJson = (data: object): string =>
  JSON.stringify(data, undefined, 2).replace(ESCAPED_CHARACTERS, escaped);

const escaped = (character: string): string =>
  character.split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Joins tables by empty lines, and leaves out those without rows. */
const tables = (...parts: readonly (readonly string[])[]): string[] => {
  const [first = [], ...others] = parts.filter(({ length }) => length > 0);
  return [...first, ...others.flatMap((lines) => ["", ...lines])];
};

/** Lists Exports, then Collections. */
export const catalogListing = (catalog: Catalog): Listing => {
  const { exports, collections = [] } = catalog;
  const locked = exports.filter(({ bindable }) => bindable === false).map(({ name }) => name);
  return {
    data: catalog,
    names: [
      ...exports.map(({ name }) => `export.${CATALOG_GROUP}/${name}`),
      ...collections.map(({ name }) => `collection.${CATALOG_GROUP}/${name}`),
    ],
    empty: "No Exports are offered.",
    notes: locked.length > 0
      ? [`you may not bind ${locked.join(", ")}; kubectl bind doctor shows what to ask for`]
      : [],
    table: ({ wide, noHeaders }) => {
      const exportRows = exports.map((each) => [
        each.name,
        each.title,
        each.apis.join(","),
        ...(wide
          ? [
            each.description ?? "",
            (each.relatedResources ?? [])
              .map(({ resource, direction }) => `${resource} ${direction}`).join(", "),
            each.docs ?? "",
            each.bindable === false ? "no" : catalog.bindableUnknown ? "unknown" : "yes",
          ]
          : []),
      ]);
      const collectionRows = collections.map((each) => [
        each.name,
        each.title,
        each.exports.join(","),
        ...(wide ? [each.description ?? ""] : []),
      ]);
      const more = wide ? ["DESCRIPTION"] : [];
      return tables(
        section([
          "EXPORT",
          "TITLE",
          "APIS",
          ...more,
          ...(wide ? ["RELATED", "DOCS", "BINDABLE"] : []),
        ])(
          exportRows,
          noHeaders,
        ),
        section(["COLLECTION", "TITLE", "EXPORTS", ...more])(collectionRows, noHeaders),
      );
    },
  };
};

/** Lists one line for each Grant of a cluster, then the Grants that no cluster uses yet. */
export const clustersListing = (list: Clusters, now: Date): Listing => {
  const { clusters, pending = [], truncated = [] } = list;
  const labelOf = grantLabels(list);
  return {
    data: list,
    names: [
      ...clusters.map(({ uid }) => `cluster/${uid}`),
      ...pending.map(({ grant }) => `grant.iam.xbind.io/${grant}`),
    ],
    empty: "No cluster has bound anything.",
    notes: truncated.map(({ boundaryNamespace, leases }) =>
      `namespace ${boundaryNamespace} holds ${leases} heartbeat Leases; only the newest are shown`
    ),
    table: ({ wide, noHeaders }) =>
      tables(
        section([
          "CLUSTER",
          "LIVE",
          "HEARTBEAT",
          "EXPORT",
          "IDENTITY",
          "SYNCED",
          "PROBLEMS",
          ...(wide ? ["GRANT", "NAMESPACE", "UID", "OBJECTS", "KONNECTOR", "APIS"] : []),
        ])(
          clusters.flatMap((cluster) =>
            cluster.bindings.map((binding) =>
              clusterRow(labelOf(cluster, binding), cluster, binding, wide, now)
            )
          ),
          noHeaders,
        ),
        section(["PENDING", "EXPORT", "IDENTITY", "AGE"])(
          pending.map((each) => [
            each.grant,
            each.export,
            each.identity ?? "",
            age(each.createdAt, now),
          ]),
          noHeaders,
        ),
      ),
  };
};

const clusterRow = (
  label: string,
  cluster: Cluster,
  binding: ClusterGrant,
  wide: boolean,
  now: Date,
): string[] => [
  label,
  binding.live ? "yes" : "no",
  age(binding.lastHeartbeat, now),
  binding.export,
  binding.identity ?? binding.subject ?? "",
  syncedSum(binding.apis),
  problemsText(binding),
  ...(wide
    ? [
      binding.grant,
      binding.boundaryNamespace ?? "",
      cluster.uid,
      String(binding.sync?.objects ?? "?"),
      binding.konnectorVersion ?? "",
      binding.apis.map(({ name, syncedCount }) => `${name}=${syncedCount ?? "?"}`).join(","),
    ]
    : []),
];

/** Counts the objects that are not synced: `0`, `1 in conflict, 2 rejected`, or `?` if unknown. */
const problemsText = ({ sync }: ClusterGrant): string => {
  if (!sync) return "?";
  const { conflicts, rejected } = sync;
  const parts = [
    ...(conflicts > 0 ? [`${conflicts} in conflict`] : []),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
  ];
  return parts.join(", ") || "0";
};

/** Adds up the synced objects, with `?` for unknown counts: `7`, `3+?`, `?`. */
const syncedSum = (apis: readonly SyncedApi[]): string => {
  const known = apis.flatMap(({ syncedCount }) => syncedCount === undefined ? [] : [syncedCount]);
  const sum = known.reduce((all, each) => all + each, 0);
  if (known.length === apis.length) return String(sum);
  return known.length === 0 ? "?" : `${sum}+?`;
};

/** Lists the objects of one Export, or of all with a column for it; then those not synced. */
export const instancesListing = (
  lists: readonly Instances[],
  of: "one" | "all",
  now: Date,
): Listing => {
  const rows = lists.flatMap((list) => list.instances.map((each) => ({ list, each })));
  const problems = lists.flatMap((list) => (list.problems ?? []).map((each) => ({ list, each })));
  const labelOf = labelsIn([...rows, ...problems].map(({ each }) => each));
  const more = lists.reduce((sum, { moreProblems = 0 }) => sum + moreProblems, 0);
  const [only] = lists;
  return {
    data: of === "one" && only ? only : lists,
    names: rows.map(({ each }) => `${each.api}/${each.name}`),
    empty: "No objects are synced.",
    notes: more > 0 ? [`and ${more} more objects are not synced; konnectors name only some`] : [],
    table: ({ wide, noHeaders }) =>
      tables(
        section([
          ...(of === "all" ? ["EXPORT"] : []),
          "API",
          "NAMESPACE",
          "NAME",
          ...(wide ? ["DIRECTION", "CLUSTER"] : []),
          "IDENTITY",
          "AGE",
          ...(wide ? ["UID"] : []),
        ])(
          rows.map(({ list, each }) => [
            ...(of === "all" ? [list.export] : []),
            each.related ? `${each.api} (related)` : each.api,
            each.namespace ?? "",
            each.name,
            ...(wide ? [each.direction ?? "", labelOf(each)] : []),
            each.identity ?? "",
            age(each.createdAt, now),
            ...(wide ? [each.clusterUID ?? ""] : []),
          ]),
          noHeaders,
        ),
        section([
          "NOT SYNCED",
          ...(of === "all" ? ["EXPORT"] : []),
          "NAMESPACE",
          "NAME",
          "CLUSTER",
          "IDENTITY",
          "REASON",
          ...(wide ? ["UID"] : []),
          "MESSAGE",
        ])(
          problems.map(({ list, each }) => [
            each.api,
            ...(of === "all" ? [list.export] : []),
            each.namespace ?? "",
            each.name,
            labelOf(each),
            each.identity ?? "",
            each.reason,
            ...(wide ? [each.clusterUID] : []),
            each.message,
          ]),
          noHeaders,
        ),
      ),
  };
};

const section =
  (headers: readonly string[]) =>
  (rows: readonly (readonly string[])[], noHeaders: boolean | undefined): string[] =>
    rows.length === 0 ? [] : table(headers, rows, { noHeaders });
