import assert from "node:assert/strict";
import type { CatalogExport, CatalogRelatedResource } from "../../common/api/wire.ts";
import { permissionsOf, relatedSentence, risksOf } from "./permissions.ts";

const offer = (...relatedResources: CatalogRelatedResource[]): CatalogExport => ({
  name: "pg",
  title: "PostgreSQL",
  apis: ["dbs.sql.example", "users.sql.example"],
  relatedResources,
});
const SECRETS_OUT = { resource: "secrets", direction: "FromProvider" } as const;
const SECRETS_IN = { resource: "secrets", direction: "FromConsumer" } as const;
const MAPS_OUT = { resource: "configmaps", direction: "FromProvider" } as const;
const MAPS_IN = { resource: "configmaps", direction: "FromConsumer" } as const;

const lines = (each: CatalogExport) => permissionsOf(each).map(({ may, what }) => `${may} ${what}`);

Deno.test("permissionsOf() lists every API, then related resources, then the rights of every credential", () => {
  const always = [
    "List and create namespaces",
    "Read customresourcedefinitions",
    "Read namespaces",
    "Send heartbeats with leases",
  ];
  const apis = ["Read and write dbs.sql.example", "Read and write users.sql.example"];
  assert.deepEqual(lines(offer()), [...apis, ...always]);
  assert.deepEqual(lines(offer(SECRETS_OUT, MAPS_OUT)), [
    ...apis,
    "Read secrets",
    "Read configmaps",
    ...always,
  ]);
});

Deno.test("permissionsOf() shows the wider right if two rules name one resource", () => {
  for (const rules of [[SECRETS_IN, SECRETS_OUT], [SECRETS_OUT, SECRETS_IN]]) {
    const secrets = permissionsOf(offer(...rules)).filter(({ what }) => what === "secrets");
    assert.deepEqual(secrets.map(({ verbs }) => verbs), [
      "get, list, watch, create, update, patch, delete",
    ]);
  }
});

Deno.test("risksOf() returns the worst rule for Secrets, and writes to ConfigMaps", () => {
  assert.deepEqual(risksOf(offer()), []);
  assert.deepEqual(risksOf(offer(MAPS_OUT)), []);
  assert.deepEqual(risksOf(offer(SECRETS_OUT)), ["reads-secrets"]);
  assert.deepEqual(risksOf(offer(SECRETS_OUT, SECRETS_IN)), ["writes-secrets"]);
  assert.deepEqual(risksOf(offer(MAPS_OUT, MAPS_IN)), ["writes-configmaps"]);
  assert.deepEqual(risksOf(offer(MAPS_IN, SECRETS_OUT)), ["reads-secrets", "writes-configmaps"]);
});

Deno.test("relatedSentence() names direction, kind and selector", () => {
  const sentence = (selector?: string) =>
    relatedSentence({ ...SECRETS_OUT, ...(selector === undefined ? {} : { selector }) });
  assert.equal(sentence(), "To your cluster: all Secrets");
  assert.equal(sentence("names: a, b"), "To your cluster: Secrets named a, b");
  assert.equal(
    sentence("app=x,tier in (a,b); names: c"),
    "To your cluster: Secrets with labels app=x,tier in (a,b), named c",
  );
  assert.equal(
    relatedSentence({ resource: "configmaps", direction: "FromConsumer", selector: "app=x" }),
    "From your cluster: ConfigMaps with labels app=x",
  );
  assert.match(relatedSentence({ ...MAPS_OUT, resource: "widgets" }), /: all widgets$/);
});
