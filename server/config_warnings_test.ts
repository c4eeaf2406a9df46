import assert from "node:assert/strict";
import { base64, OIDC, run } from "../tests/support/programs/config_runs.ts";
import { configWarnings } from "./config.ts";

Deno.test("configWarnings() names risky and useless settings", async (t) => {
  const KEYS = [`--cookie-signing-key=${base64(32)}`, `--cookie-encryption-key=${base64(32)}`];
  const cases: readonly [string, readonly string[], readonly RegExp[]][] = [
    ["nothing with keys", [...OIDC, ...KEYS], []],
    ["missing keys", OIDC, [
      /^--cookie-signing-key is not set/,
      /^--cookie-encryption-key is not set/,
    ]],
    ["several replicas with keys of their own", [...OIDC, "--leader-elect"], [
      /^--cookie-signing-key is not set/,
      /^--cookie-encryption-key is not set/,
      /^--leader-elect means several replicas.*kubectl create secret generic xbind-cookie-keys /,
    ]],
    ["several replicas with shared keys", [...OIDC, ...KEYS, "--leader-elect"], []],
    ["no keys needed without a gateway", ["--enable-gateway=false"], []],
    ["a short signing key", [...OIDC, ...KEYS, `--cookie-signing-key=${base64(31)}`], [
      /^--cookie-signing-key is short \(31 bytes\)/,
    ]],
    ["the mock identity provider", [...KEYS, "--oidc-mock"], [/^--oidc-mock signs EVERYBODY in/]],
    ["an http issuer", [...OIDC, ...KEYS, "--oidc-issuer-url=http://idp"], [
      /^--oidc-issuer-url is not https/,
    ]],
    ["scopes without openid", [...OIDC, ...KEYS, "--oidc-scopes=email"], [/lacks openid/]],
    ["authorization without groups", [...OIDC, ...KEYS, "--authorization=Kubernetes"], [
      /^--authorization=Kubernetes without --oidc-groups-claim/,
    ]],
    ["an idle boundary switch", ["--enable-gateway=false", "--reaper-delete-boundary"], [
      /^--reaper-delete-boundary has no effect without --reaper-revoke/,
    ]],
    ["a working boundary switch", [
      ...["--enable-gateway=false", "--reaper-delete-boundary", "--reaper-revoke"],
    ], []],
  ];
  for (const [name, args, expected] of cases) {
    await t.step(name, () => {
      const found = configWarnings(run(args));
      assert.equal(found.length, expected.length, found.join("\n"));
      expected.forEach((pattern, i) => assert.match(found[i] ?? "", pattern));
    });
  }
});
