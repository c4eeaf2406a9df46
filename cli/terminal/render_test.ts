import assert from "node:assert/strict";
import type { SyncedApi } from "../../common/api/wire.ts";
import { catalogListing, clustersListing, instancesListing } from "./render.ts";

const NOW = new Date("2026-05-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString();
const lines = (...all: string[]) => all;

Deno.test("catalogListing() leaves the table of Collections out when there are none", () => {
  const { table, names } = catalogListing({
    exports: [{ name: "pg", title: "PostgreSQL", apis: ["dbs.pg.org", "users.pg.org"] }],
  });
  assert.deepEqual(
    table({ wide: false }),
    lines("EXPORT   TITLE        APIS", "pg       PostgreSQL   dbs.pg.org,users.pg.org"),
  );
  assert.deepEqual(names, ["export.catalog.xbind.io/pg"]);
});

Deno.test("clustersListing() has a line for each Grant in use, then those in waiting", () => {
  const binding = {
    grant: "pg-1",
    export: "pg",
    identity: "ada",
    boundaryNamespace: "xbind-1",
    lastHeartbeat: ago(12),
    live: true,
    apis: [{ name: "dbs.pg.org", syncedCount: 3 }, { name: "users.pg.org", syncedCount: 4 }],
  };
  const { identity: _, ...nameless } = binding;
  const silent = { ...nameless, grant: "mq-1", export: "mq", live: false, subject: "x#y" };
  const { table } = clustersListing({
    clusters: [{
      uid: "u-1",
      lastHeartbeat: ago(12),
      live: true,
      bindings: [binding, { ...silent, lastHeartbeat: ago(200), apis: [] }],
    }],
    pending: [{ grant: "kv-1", export: "kv", createdAt: ago(3 * 86_400) }],
  }, NOW);
  assert.deepEqual(
    table({ wide: true }),
    lines(
      "CLUSTER   LIVE   HEARTBEAT   EXPORT   IDENTITY   SYNCED   GRANT   NAMESPACE   APIS",
      "u-1       yes    12s         pg       ada        7        pg-1    xbind-1     " +
        "dbs.pg.org=3,users.pg.org=4",
      "u-1       no     3m20s       mq       x#y        0        mq-1    xbind-1     <none>",
      "",
      "PENDING   EXPORT   IDENTITY   AGE",
      "kv-1      kv       <none>     3d",
    ),
  );
});

Deno.test("clustersListing() tells what is unknown, and what is left out", async (t) => {
  const [one, two] = [{ name: "a.org", syncedCount: 3 }, { name: "b.org", syncedCount: 4 }];
  const unknown = { name: "c.org" };
  const rows: [apis: SyncedApi[], sum: string, each: string][] = [
    [[one, two], "7", "a.org=3,b.org=4"],
    [[one, unknown], "3+?", "a.org=3,c.org=?"],
    [[unknown], "?", "c.org=?"],
    [[], "0", "<none>"],
  ];
  for (const [apis, sum, each] of rows) {
    await t.step(sum, () => {
      const binding = { grant: "g", export: "pg", lastHeartbeat: ago(1), live: true, apis };
      const cluster = { uid: "u", lastHeartbeat: ago(1), live: true, bindings: [binding] };
      const [line = ""] = clustersListing({ clusters: [cluster] }, NOW)
        .table({ wide: true, noHeaders: true });
      const cells = line.split(/ {3,}/);
      assert.deepEqual([cells[5], cells[8]], [sum, each]);
    });
  }
  const truncated = [{ boundaryNamespace: "xbind-1", leases: 100_000 }];
  assert.deepEqual(clustersListing({ clusters: [], truncated }, NOW).notes, [
    "namespace xbind-1 holds 100000 heartbeat Leases; only the newest are shown",
  ]);
});

Deno.test("instancesListing() tells related objects, and the Export where there are several", () => {
  const object = { api: "dbs.pg.org", name: "main", namespace: "team", createdAt: ago(90) };
  const related = {
    api: "secrets",
    name: "password",
    namespace: "team",
    related: true,
    direction: "FromProvider",
    clusterUID: "u-1",
    identity: "ada",
    createdAt: ago(5),
  } as const;
  const list = { export: "pg", instances: [object, related] };
  assert.deepEqual(
    instancesListing([list], "one", NOW).table({ wide: true }),
    lines(
      "API                 NAMESPACE   NAME       DIRECTION      CLUSTER   IDENTITY   AGE",
      "dbs.pg.org          team        main       <none>         <none>    <none>     90s",
      "secrets (related)   team        password   FromProvider   u-1       ada        5s",
    ),
  );
  assert.deepEqual(
    instancesListing([list], "all", NOW).table({ wide: false, noHeaders: true }),
    lines(
      "pg   dbs.pg.org          team   main       <none>   90s",
      "pg   secrets (related)   team   password   ada      5s",
    ),
  );
  assert.deepEqual(instancesListing([list], "one", NOW).data, list);
  assert.deepEqual(instancesListing([list], "all", NOW).data, [list]);
});
