import assert from "node:assert/strict";
import { parseLossless } from "../../common/kube/lossless_json.ts";
import {
  consumerRecord,
  hashOf,
  type Owner,
  ownerOf,
  type ProviderRecord,
  providerRecord,
  takeOver,
} from "./records.ts";
import { syncedFields } from "./synced_fields.ts";

const MARKS = {
  labels: { "core.xbind.io/managed": "true", "core.xbind.io/consumer-cluster-uid": "c" },
  annotations: {
    "core.xbind.io/consumer-cluster-uid": "c",
    "core.xbind.io/consumer-object-uid": "o",
    "core.xbind.io/consumer-generation": "3",
    "core.xbind.io/synced-hash": "h",
  },
};
const ownEntry = (fieldsV1: object) => ({ manager: "us", operation: "Apply", fieldsV1, time: "2" });
const readCopy = (metadata: object, rest: object = {}, hasStatusSubresource = true) =>
  providerRecord(
    { metadata: { name: "a", uid: "u", generation: 5, ...MARKS, ...metadata }, ...rest },
    { manager: "us", hasStatusSubresource },
  );

Deno.test("consumerRecord() tells content, status and wishes apart", () => {
  const base = { apiVersion: "g/v1", kind: "A", metadata: { name: "a", uid: "u" }, spec: { n: 1 } };
  const record = consumerRecord(base);
  assert.equal(record.content, '{"spec":{"n":1}}');
  const withStatus = consumerRecord({ ...base, status: { ok: true } });
  assert.equal(withStatus.hash, record.hash);
  assert.notEqual(withStatus.statusHash, record.statusHash);
  assert.equal(record.statusHash, "");
  assert.notEqual(consumerRecord({ ...base, data: {} }).hash, record.hash);
  const annotations = {
    "core.xbind.io/conflict": "ForeignObjectExists",
    "core.xbind.io/deletion-policy": "Orphan",
    "core.xbind.io/replace": "true",
  };
  const wishing = consumerRecord({ ...base, metadata: { ...base.metadata, annotations } });
  assert.equal(wishing.content, record.content);
  assert.equal(wishing.carried, '{"annotations":{"core.xbind.io/deletion-policy":"Orphan"}}');
  assert.deepEqual(
    [wishing.mark, wishing.wishes.isOrphaning, wishing.wishes.isReplaceable],
    ["ForeignObjectExists", true, true],
  );
});

Deno.test("consumerRecord() keeps a hash of the shown error", () => {
  const record = (text?: string) =>
    consumerRecord({
      metadata: { name: "a", annotations: text ? { "core.xbind.io/sync-error": text } : {} },
    });
  assert.equal(record().shownError, undefined);
  assert.equal(record("x").shownError, hashOf("x"));
  assert.equal(record("x").hash, record().hash);
});

Deno.test("consumerRecord() hashes labels and annotations only if they are carried", () => {
  const rules = { labels: ["team", "example.org/*"], annotations: ["note"] };
  const item = (labels: object, annotations = {}) => ({
    metadata: { name: "a", labels, annotations },
    spec: { n: 1 },
  });
  const plain = consumerRecord(item({ team: "a" }));
  assert.equal(plain.carried, undefined);
  const read = (item: object) => consumerRecord(item, syncedFields(item, rules));
  assert.equal(read(item({})).hash, plain.hash);
  assert.equal(read(item({ other: "b", "sub.example.org/x": "c" })).hash, plain.hash);
  const carrying = read(item({ team: "a", "example.org/x": "c" }, { note: "d" }));
  assert.notEqual(carrying.hash, plain.hash);
  assert.equal(carrying.content, plain.content);
  assert.deepEqual(JSON.parse(carrying.carried ?? ""), {
    labels: { team: "a", "example.org/x": "c" },
    annotations: { note: "d" },
  });
});

Deno.test("consumerRecord() leaves ignored fields out of content and hash", () => {
  const item = (size: number, paths: string) => ({
    metadata: { name: "a", annotations: { "core.xbind.io/ignored-paths": paths } },
    spec: { size, list: [{ n: 1 }], deep: { kept: 1, left: 2 } },
  });
  const paths = "/spec/size, /spec/deep/left,/spec/missing/field";
  const record = consumerRecord(item(1, paths));
  assert.equal(record.content, '{"spec":{"list":[{"n":1}],"deep":{"kept":1}}}');
  assert.equal(record.hash, consumerRecord(item(2, paths)).hash);
  assert.equal(record.wishes.problem, undefined);
  const wrong = consumerRecord(item(1, "/spec/list/0/n"));
  assert.match(wrong.wishes.problem ?? "", /ignored-paths is wrong: .*leads into a list/);
});

Deno.test("consumerRecord() tells neighbouring integers of 64 bits apart", () => {
  const records = ["9223372036854775806", "9223372036854775807"].map((n) =>
    consumerRecord(parseLossless(`{"metadata":{"name":"a"},"spec":{"n":${n}}}`))
  );
  assert.equal(new Set(records.map(({ hash }) => hash)).size, 2);
  assert.equal(records[1]?.content, '{"spec":{"n":9223372036854775807}}');
});

Deno.test("providerRecord() reads marks and the translated status", () => {
  const record = readCopy({}, { status: { observedGeneration: 5 } });
  assert.deepEqual(
    [record.clusterUid, record.objectUid, record.syncedHash, record.consumerGeneration],
    ["c", "o", "h", 3],
  );
  assert.equal(record.isWatched, true);
  assert.equal(record.status, '{"observedGeneration":3}');
  assert.equal(
    readCopy({}, { status: { observedGeneration: 5 } }, false).status,
    '{"observedGeneration":5}',
  );
  assert.deepEqual([readCopy({}).status, readCopy({}).statusHash], [undefined, ""]);
  assert.equal(readCopy({ labels: { "core.xbind.io/managed": "true" } }).isWatched, false);
  assert.equal(readCopy({ labels: undefined }).isWatched, false);
});

Deno.test("providerRecord() sees when another writer takes a field, and names it", () => {
  const both = ownEntry({ "f:spec": { "f:a": {}, "f:b": {} } });
  const one = ownEntry({ "f:spec": { "f:a": {} } });
  const status = {
    manager: "status-writer",
    operation: "Update",
    subresource: "status",
    time: "9",
  };
  const old = { manager: "first", operation: "Update", time: "1" };
  const rival = { manager: "second", operation: "Update", time: "3" };
  const before = readCopy({ managedFields: [both, status] });
  const after = readCopy({ managedFields: [old, one, rival, status] });
  assert.notEqual(after.owned, before.owned);
  assert.deepEqual([before.rival, after.rival], [undefined, "second"]);
  assert.equal(readCopy({ managedFields: [rival] }).owned, "");
});

Deno.test("takeOver() keeps what is known of the same copy only", () => {
  const older: ProviderRecord = { ...readCopy({}), accepted: "x", isSuspect: true };
  const same = readCopy({});
  takeOver(same, older);
  assert.deepEqual([same.accepted, same.isSuspect], ["x", true]);
  const other = readCopy({ uid: "other" });
  takeOver(other, older);
  assert.deepEqual([other.accepted, other.isSuspect], [undefined, false]);
});

Deno.test("ownerOf()", async (t) => {
  const cases: [Owner, string | undefined, string | undefined][] = [
    ["ours", "c", "o"],
    ["previous", "c", "earlier"],
    ["unmarked", undefined, undefined],
    ["another", "other", "o"],
    ["another", "c", undefined],
    ["another", undefined, "o"],
  ];
  for (const [expected, clusterUid, objectUid] of cases) {
    await t.step(`${clusterUid} ${objectUid}`, () => {
      const us = { clusterUid: "c", objectUid: "o" };
      assert.equal(ownerOf({ clusterUid, objectUid }, us), expected);
    });
  }
});
