import assert from "node:assert/strict";
import type { Clusters } from "../../common/api/wire.ts";
import { grantName, identityHash as serverHash } from "../../common/api/names.ts";
import { boundExports, identityHash } from "./bound_exports.ts";

const ME = { subject: "https://idp#jane", displayName: "jane" };
const AT = "2026-05-01T12:00:00Z";

const cluster = (name: string, subject: string, live: boolean) => ({
  uid: `uid-${name}`,
  lastHeartbeat: AT,
  live,
  bindings: [{ grant: `${name}-x`, export: name, subject, lastHeartbeat: AT, live, apis: [] }],
});
const pending = (grant: string, name: string, identity = "jane") => ({
  grant,
  export: name,
  identity,
  createdAt: AT,
});

Deno.test("boundExports() uses only the user's Grants, and the best of their states", () => {
  const clusters: Clusters = {
    clusters: [
      cluster("pg", ME.subject, true),
      cluster("pg", ME.subject, false),
      cluster("redis", ME.subject, false),
      cluster("mail", "https://idp#john", true),
    ],
    pending: [
      pending("queue-abc", "queue"),
      pending("redis-abc", "redis"),
      pending("disk-def", "disk"),
    ],
  };
  assert.deepEqual(
    boundExports(clusters, ME, "abc"),
    new Map([["queue", "pending"], ["redis", "silent"], ["pg", "live"]]),
  );
});

Deno.test("boundExports() compares display names if the browser has no digests", () => {
  const clusters = { clusters: [], pending: [pending("a-1", "a"), pending("b-2", "b", "john")] };
  assert.deepEqual(boundExports(clusters, ME, undefined), new Map([["a", "pending"]]));
  assert.deepEqual(boundExports(clusters, { subject: ME.subject }, undefined), new Map());
});

Deno.test("identityHash() returns the end of Grant names", async () => {
  const hash = await identityHash(ME.subject);
  assert.equal(hash, serverHash(ME.subject));
  assert.ok(grantName("pg", ME.subject).endsWith(`-${hash}`));
});
