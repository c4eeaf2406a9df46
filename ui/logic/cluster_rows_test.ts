import assert from "node:assert/strict";
import type { Cluster, Clusters } from "../../common/api/wire.ts";
import { clusterRows } from "./cluster_rows.ts";

const cluster = (uid: string, live: boolean, minute: number, exportName = "pg"): Cluster => {
  const lastHeartbeat = `2026-05-01T12:0${minute}:00Z`;
  const apis = [{ name: `${exportName}s.example.org`, syncedCount: 1 }];
  const binding = { grant: `${exportName}-1`, export: exportName, identity: "Jane", apis };
  return { uid, lastHeartbeat, live, bindings: [{ ...binding, lastHeartbeat, live }] };
};
const CLUSTERS: Clusters = {
  clusters: [
    cluster("a", false, 1),
    cluster("b", true, 4),
    cluster("c", false, 3, "redis"),
    cluster("d", true, 5),
  ],
  pending: [{ grant: "mail-1", export: "mail", identity: "John", createdAt: "" }],
};
const shown = (...filter: [string, Parameters<typeof clusterRows>[2]]) => {
  const { clusters, pending } = clusterRows(CLUSTERS, ...filter);
  return [...clusters.map(({ uid }) => uid), ...pending.map(({ grant }) => grant)].join(" ");
};

Deno.test("clusterRows() lists live clusters in a stable order, then silent ones by time", () => {
  assert.equal(shown("", "all"), "b d c a mail-1");
});

Deno.test("clusterRows() filters by state and by every word of the search", () => {
  assert.equal(shown("", "live"), "b d");
  assert.equal(shown("", "silent"), "c a");
  assert.equal(shown("", "pending"), "mail-1");
  assert.equal(shown("REDISS.example jane", "all"), "c");
  assert.equal(shown("john", "all"), "mail-1");
  assert.equal(shown("redis", "live"), "");
});

Deno.test("clusterRows() counts the search results in each state", () => {
  const counts = (search: string) => clusterRows(CLUSTERS, search, "live").counts;
  assert.deepEqual(counts(""), { all: 5, live: 2, silent: 2, pending: 1 });
  assert.deepEqual(counts("redis"), { all: 1, live: 0, silent: 1, pending: 0 });
});
