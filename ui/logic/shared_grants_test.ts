import assert from "node:assert/strict";
import type { Cluster } from "../../common/api/wire.ts";
import { sharedGrants } from "./shared_grants.ts";

const AT = "2026-05-01T12:00:00Z";
const cluster = (uid: string, grants: Record<string, boolean>): Cluster => ({
  uid,
  lastHeartbeat: AT,
  live: true,
  bindings: Object.entries(grants).map(([grant, live]) => ({
    grant,
    export: "pg",
    lastHeartbeat: AT,
    live,
    apis: [],
  })),
});

Deno.test("sharedGrants() finds Grants with heartbeats from several clusters, and the live clusters", () => {
  const clusters = [
    cluster("a", { pg: true, redis: true }),
    cluster("b", { pg: true, mail: true }),
    cluster("c", { mail: false }),
  ];
  assert.deepEqual(
    sharedGrants(clusters),
    new Map([
      ["pg", { uids: ["a", "b"], liveUids: ["a", "b"] }],
      ["mail", { uids: ["b", "c"], liveUids: ["b"] }],
    ]),
  );
  assert.deepEqual(sharedGrants([]), new Map());
});
