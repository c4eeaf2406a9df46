import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import type { SyncedApi } from "../../common/api/wire.ts";
import { toYaml } from "../../common/yaml.ts";
import type { Io } from "./io.ts";
import { createOutput, linesOf } from "./output.ts";
import {
  catalogListing,
  clustersListing,
  instancesListing,
  printList,
  safeJson,
} from "./render.ts";
import { safeText } from "./safe_text.ts";

const NOW = new Date("2026-05-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString();

Deno.test("catalogListing() omits the table of Collections when there are none", () => {
  const { table, names } = catalogListing({
    exports: [{ name: "pg", title: "PostgreSQL", apis: ["dbs.pg.org", "users.pg.org"] }],
  });
  assert.deepEqual(table({ wide: false }), [
    "EXPORT   TITLE        APIS",
    "pg       PostgreSQL   dbs.pg.org,users.pg.org",
  ]);
  assert.deepEqual(names, ["export.catalog.xbind.io/pg"]);
});

Deno.test("catalogListing() tells which Exports may not be bound", () => {
  const entry = (name: string) => ({ name, title: name, apis: [`${name}.org`] });
  const { table, notes } = catalogListing({
    exports: [entry("a"), { ...entry("b"), bindable: false }],
  });
  assert.deepEqual(table({ wide: true }), [
    "EXPORT   TITLE   APIS    DESCRIPTION   RELATED   DOCS     BINDABLE",
    "a        a       a.org   <none>        <none>    <none>   yes",
    "b        b       b.org   <none>        <none>    <none>   no",
  ]);
  assert.deepEqual(notes, ["you may not bind b; kubectl bind doctor shows what to ask for"]);
  assert.deepEqual(catalogListing({ exports: [entry("a")] }).notes, []);
  const unknown = catalogListing({ exports: [entry("a")], bindableUnknown: true });
  assert.match(unknown.table({ wide: true })[1] ?? "", / unknown$/);
});

Deno.test("clustersListing() lists Grants in use, then pending Grants", () => {
  const binding = {
    grant: "pg-1",
    export: "pg",
    identity: "ada",
    boundaryNamespace: "xbind-1",
    lastHeartbeat: ago(12),
    live: true,
    apis: [{ name: "dbs", syncedCount: 3 }, { name: "users", syncedCount: 4 }],
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
  assert.deepEqual(table({ wide: true }), [
    "CLUSTER   LIVE   HEARTBEAT   EXPORT   IDENTITY   SYNCED   PROBLEMS   " +
    "GRANT   NAMESPACE   UID   OBJECTS   KONNECTOR   APIS",
    "u-1       yes    12s         pg       ada        7        ?          " +
    "pg-1    xbind-1     u-1   ?         <none>      dbs=3,users=4",
    "u-1       no     3m20s       mq       x#y        0        ?          " +
    "mq-1    xbind-1     u-1   ?         <none>      <none>",
    "",
    "PENDING   EXPORT   IDENTITY   AGE",
    "kv-1      kv       <none>     3d",
  ]);
});

Deno.test("clustersListing() shows names, problems and versions that konnectors tell", () => {
  const cluster = (uid: string, name: string | undefined, conflicts: number, rejected: number) => ({
    uid,
    lastHeartbeat: ago(1),
    live: true,
    ...(name === undefined ? {} : { name }),
    bindings: [{
      grant: `pg-${uid}`,
      export: "pg",
      identity: "ada",
      lastHeartbeat: ago(1),
      live: true,
      apis: [{ name: "dbs", syncedCount: 1 }],
      clusterName: name ?? "claimed",
      konnectorVersion: "1.2.3",
      sync: { objects: 5, conflicts, rejected },
    }],
  });
  const clusters = [
    cluster("0a57a3ca-1111", "prod", 0, 0),
    cluster("0b57a3ca-2222", "test", 1, 2),
    cluster("0c57a3ca-3333", "test", 0, 4),
    cluster("0d57a3ca-4444", undefined, 3, 0),
  ];
  const { table, names } = clustersListing({ clusters }, NOW);
  assert.deepEqual(table({ wide: false }), [
    "CLUSTER           LIVE   HEARTBEAT   EXPORT   IDENTITY   SYNCED   PROBLEMS",
    "prod              yes    1s          pg       ada        1        0",
    "test (0b57a3ca)   yes    1s          pg       ada        1        1 in conflict, 2 rejected",
    "test (0c57a3ca)   yes    1s          pg       ada        1        4 rejected",
    "claimed           yes    1s          pg       ada        1        3 in conflict",
  ]);
  assert.match(table({ wide: true })[1] ?? "", / 0a57a3ca-1111 +5 +1\.2\.3 +dbs=1$/);
  assert.equal(names[0], "cluster/0a57a3ca-1111");
});

Deno.test("instancesListing() tells clusters of one name apart", () => {
  const of = (clusterUID: string, clusterName: string) => ({ clusterUID, clusterName });
  const object = { api: "dbs.pg.org", namespace: "team", createdAt: ago(1) };
  const problem = { ...object, name: "x", reason: "Rejected", message: "big" };
  const list = {
    export: "pg",
    instances: [
      { ...object, name: "a", ...of("0a57a3ca-1111", "prod") },
      { ...object, name: "b", ...of("0c57a3ca-3333", "test") },
    ],
    problems: [{ ...problem, ...of("0b57a3ca-2222", "prod") }],
  };
  const lines = instancesListing([list], "one", NOW).table({ wide: true, noHeaders: true });
  assert.match(lines[0] ?? "", / prod \(0a57a3ca\) /);
  assert.match(lines[1] ?? "", / test /);
  assert.match(lines[3] ?? "", / prod \(0b57a3ca\) /);
});

Deno.test("instancesListing() says how many more objects are not synced", () => {
  const list = { export: "pg", instances: [], moreProblems: 7 };
  const { notes } = instancesListing([list, { ...list, export: "mq" }], "all", NOW);
  assert.deepEqual(notes, ["and 14 more objects are not synced; konnectors name only some"]);
  assert.deepEqual(instancesListing([{ export: "pg", instances: [] }], "one", NOW).notes, []);
});

Deno.test("instancesListing() lists objects that are not synced after the others", () => {
  const problems = [{
    api: "dbs.pg.org",
    namespace: "team",
    name: "big",
    reason: "Rejected",
    message: "too\n\u001b[31mbig",
    clusterUID: "0a57a3ca-1111",
    clusterName: "prod",
    identity: "ada",
  }];
  const list = { export: "pg", instances: [], problems };
  assert.deepEqual(instancesListing([list], "one", NOW).table({ wide: false }), [
    "NOT SYNCED   NAMESPACE   NAME   CLUSTER   IDENTITY   REASON     MESSAGE",
    "dbs.pg.org   team        big    prod      ada        Rejected   too \ufffd[31mbig",
  ]);
  const instances = [{
    api: "dbs.pg.org",
    name: "small",
    createdAt: ago(9),
    clusterUID: "0a57a3ca-1111",
    clusterName: "prod",
  }];
  assert.deepEqual(
    instancesListing([{ ...list, instances }], "all", NOW).table({ wide: true, noHeaders: true }),
    [
      "pg   dbs.pg.org   <none>   small   <none>   prod   <none>   9s   0a57a3ca-1111",
      "",
      "dbs.pg.org   pg   team   big   prod   ada   Rejected   0a57a3ca-1111   too \ufffd[31mbig",
    ],
  );
});

Deno.test("clustersListing() marks unknown counts, and notes omitted Leases", async (t) => {
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
      assert.deepEqual([cells[5], cells.at(-1)], [sum, each]);
    });
  }
  const truncated = [{ boundaryNamespace: "xbind-1", leases: 100_000 }];
  assert.deepEqual(clustersListing({ clusters: [], truncated }, NOW).notes, [
    "namespace xbind-1 holds 100000 heartbeat Leases; only the newest are shown",
  ]);
});

Deno.test("instancesListing() marks related objects, and names the Export when there are several", () => {
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
  const one = instancesListing([list], "one", NOW);
  assert.deepEqual(one.table({ wide: true }), [
    "API                 NAMESPACE   NAME       DIRECTION      CLUSTER   IDENTITY   AGE   UID",
    "dbs.pg.org          team        main       <none>         <none>    <none>     90s   <none>",
    "secrets (related)   team        password   FromProvider   u-1       ada        5s    u-1",
  ]);
  const all = instancesListing([list], "all", NOW);
  assert.deepEqual(all.table({ wide: false, noHeaders: true }), [
    "pg   dbs.pg.org          team   main       <none>   90s",
    "pg   secrets (related)   team   password   ada      5s",
  ]);
  assert.deepEqual([one.data, all.data], [list, [list]]);
});

Deno.test("safeJson() escapes control characters, and parses to the same value", () => {
  const value = { text: "a\u001b[31m\u009b2J\u202e\u2028\u200b\u200d\u{e0041}ü日" };
  const json = safeJson(value);
  assert.deepEqual(JSON.parse(json), value);
  const escapes = "a\\u001b[31m\\u009b2J\\u202e\\u2028\\u200b\\u200d\\udb40\\udc41ü日";
  assert.equal(json, `{\n  "text": "${escapes}"\n}`);
});

Deno.test("JSON and YAML pass through the output unchanged, whatever texts they hold", () => {
  const shown = (text: string) => linesOf(text).map((line) => `${safeText(line)}\n`).join("");
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("\u001b", "\u009b", "\t", "\r", "\n", " ", "\u202e", "a") }),
  ).map((each) => each.toWellFormed());
  fc.assert(fc.property(fc.dictionary(text, fc.array(text, { maxLength: 3 })), (lists) => {
    const value = { ...lists };
    assert.deepEqual(JSON.parse(shown(safeJson(value))), value);
    assert.deepEqual(parse(shown(toYaml([value])), { version: "1.1", merge: false }), value);
  }));
});

Deno.test("printList() prints notes to stderr after a table, and none besides data", async (t) => {
  const notes = ["some are missing"];
  const list = { data: { a: 1 }, empty: "No a.", notes };
  const rows: [output: "json" | "name" | "wide" | undefined, names: string[], written: string][] = [
    [undefined, ["a"], "A\na\nNote: some are missing\n"],
    ["wide", ["a"], "A\na\nNote: some are missing\n"],
    [undefined, [], "No a.\nNote: some are missing\n"],
    ["name", ["a"], "a\n"],
    ["json", ["a"], '{\n  "a": 1\n}\n'],
  ];
  for (const [output, names, expected] of rows) {
    await t.step(`${output} ${names}`, async () => {
      let written = "";
      const isTerminal = { stdin: false, stdout: false, stderr: false };
      const io = createOutput({ env: {}, isTerminal }, (_, text) => void (written += text));
      await printList(io as Io, { headers: true, ...(output && { output }) }, {
        ...list,
        names,
        table: () => names.length > 0 ? ["A", ...names] : [],
      });
      assert.equal(written, expected);
    });
  }
});
