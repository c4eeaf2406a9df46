import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { Snapshot } from "./snapshot.ts";

const text = (body: Uint8Array) => new TextDecoder().decode(body);

Deno.test("Snapshot returns bytes with a strong ETag that depends only on the bytes", () => {
  const at = { ms: 5_000 };
  const clocks = { wallMs: () => at.ms, steadyMs: () => at.ms };
  const snapshot = new Snapshot(clocks);
  const first = snapshot.get([1], () => ({ value: '{"é":[1]}' }));
  assert.equal(text(first.body), '{"é":[1]}');
  assert.match(first.etag, /^"[\w-]{43}"$/);
  assert.equal(first.builtAtMs, 5_000);
  assert.equal(snapshot.get([1], () => assert.fail("built twice")), first);
  assert.equal(snapshot.sizeBytes, 10);

  at.ms += 1_000;
  const same = snapshot.get([2], () => ({ value: '{"é":[1]}' }));
  assert.equal(same.etag, first.etag);
  assert.equal(same.body, first.body);
  assert.equal(text(gunzipSync(first.zipped())), text(first.body));
  assert.equal(same.zipped(), first.zipped(), "compressed once");
  assert.equal(same.builtAtMs, 6_000);

  at.ms += 1_000;
  const other = snapshot.get([3], () => ({ value: '{"é":[2]}' }));
  assert.notEqual(other.etag, first.etag);
  assert.equal(text(other.body), '{"é":[2]}');
  assert.equal(new Snapshot().get([], () => ({ value: '{"é":[1]}' })).etag, first.etag);
});

Deno.test("Snapshot expires with its value", () => {
  const at = { ms: 5_000 };
  const snapshot = new Snapshot({ wallMs: () => at.ms, steadyMs: () => at.ms });
  const build = (nowMs: number) => ({ value: String(nowMs <= 6_000), validUntilMs: 6_000 });
  const live = snapshot.get([], build);
  at.ms = 6_001;
  const dead = snapshot.get([], build);
  assert.deepEqual([text(live.body), text(dead.body)], ["true", "false"]);
  assert.notEqual(live.etag, dead.etag);
});
