import assert from "node:assert/strict";
import { parseExecCredential } from "./exec_credential.ts";

const V1 = "client.authentication.k8s.io/v1";
const printed = (status: unknown, apiVersion = V1) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion, status });

Deno.test("parseExecCredential() reads", async (t) => {
  const CASES: [string, string, unknown][] = [
    ["a token", printed({ token: "t" }), { token: "t" }],
    [
      "a token with its expiry",
      printed({ token: "t", expirationTimestamp: "2026-01-01T00:00:00Z" }),
      { token: "t", expiresAtMs: Date.UTC(2026, 0, 1) },
    ],
    [
      "a certificate with its key",
      printed({ clientCertificateData: "c", clientKeyData: "k" }),
      { cert: "c", key: "k" },
    ],
    ["text that is no JSON", "token: t", "printed no JSON"],
    ["another kind", JSON.stringify({ kind: "Secret" }), "printed no ExecCredential"],
    ["no status", printed(undefined), "printed no status"],
    ["an empty status", printed({}), "printed neither a token nor a certificate"],
    [
      "another version",
      printed({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
      `answered with another apiVersion than the ${V1} it was asked for`,
    ],
  ];
  for (const [name, text, expected] of CASES) {
    await t.step(name, () => assert.deepEqual(parseExecCredential(text, V1), expected));
  }
});
