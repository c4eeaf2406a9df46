import assert from "node:assert/strict";
import type { Credential } from "./credential.ts";
import { REFUSED_PROBE_MS, RefusedCredentials } from "./refused_credentials.ts";

const credentialAt = (resourceVersion: string): Credential => ({
  secret: {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "a", namespace: "xbind", uid: "1", resourceVersion },
  },
  target: { server: "https://provider.example.org", origin: "test" },
  fingerprint: "same",
} as Credential);

Deno.test("a refused credential is tried again after a minute, or when its Secret changes", () => {
  let now = 0;
  const refused = new RefusedCredentials(() => now);
  const error = new Error("401");
  assert.equal(refused.find("a", credentialAt("1")), undefined);
  refused.add("a", credentialAt("1"), error);
  now = 20_000;
  assert.deepEqual(refused.find("a", credentialAt("1")), {
    error,
    restMs: REFUSED_PROBE_MS - 20_000,
  });
  assert.equal(refused.find("a", credentialAt("2")), undefined);
  assert.equal(refused.find("b", credentialAt("1")), undefined);
  now = REFUSED_PROBE_MS;
  assert.equal(refused.find("a", credentialAt("1")), undefined);
  refused.add("a", credentialAt("1"), error);
  refused.forget("a");
  assert.equal(refused.find("a", credentialAt("1")), undefined);
});
