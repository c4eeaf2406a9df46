import assert from "node:assert/strict";
import { parse } from "yaml";
import { configWarnings, MAKE_COOKIE_KEYS, parseConfig } from "../../../server/config.ts";
import {
  CHART,
  containerOf,
  notes,
  refusal,
  render,
  type Values,
} from "../../support/worlds/chart.ts";

/** The values of a release without any warning. */
const SOUND: Values = {
  "image.tag": "v1.2.3",
  "oidc.issuerUrl": "https://idp.example.org",
  "oidc.clientId": "xbind",
  "gateway.externalUrl": "https://gateway.example.org/",
  "gateway.externalAddress": "https://api.example.org:6443",
  "gateway.konnectorImage": "ghcr.io/xbind/konnector:v1.2.3",
};

Deno.test("NOTES of a sound release have no warning, and the login URL", async () => {
  const text = await notes(SOUND);
  assert.doesNotMatch(text, /WARNING/);
  assert.match(text, /Sign in at https:\/\/gateway\.example\.org\/login/);
  assert.match(text, /^https:\/\/gateway\.example\.org\/api\/auth\/oidc\/callback$/m);
  assert.match(text, /--namespace xbind-system rollout status deployment\/xbind-backend$/m);
});

Deno.test("NOTES have no warning for the values in the chart's README", async () => {
  const readme = await Deno.readTextFile(`${CHART}README.md`);
  const [, values = ""] = /```yaml\n([^]*?)```/.exec(readme) ?? [];
  const text = await notes(parse(values));
  assert.match(text, /2 replica\(s\)/);
  assert.doesNotMatch(text, /WARNING/);
});

Deno.test("NOTES without an external URL show a port-forward", async () => {
  const text = await notes({ ...SOUND, "gateway.externalUrl": "" });
  assert.match(text, /--namespace xbind-system port-forward service\/xbind-backend 8080:80$/m);
  assert.match(text, /http:\/\/localhost:8080\/login/);
});

Deno.test("NOTES have exactly one warning for", async (t) => {
  const several = { replicaCount: 2 };
  const cases: [name: string, values: Values, warning: RegExp][] = [
    ["several replicas without keys", several, /2 REPLICAS WITHOUT SHARED COOKIE KEYS/],
    ["the mock login", { "oidc.mock.enabled": true }, /SIGNS EVERYBODY IN WITHOUT A PASSWORD/],
    ["no identity provider", { "oidc.issuerUrl": "" }, /NO LOGIN IS CONFIGURED/],
    ["no client", { "oidc.clientId": "" }, /NO LOGIN IS CONFIGURED/],
    ["no external URL", { "gateway.externalUrl": "" }, /gateway\.externalUrl is empty/],
    ["no address", { "gateway.externalAddress": "" }, /gateway\.externalAddress is empty/],
    ["konnector:latest", { "gateway.konnectorImage": "k:latest" }, /tied to no version: pin it/],
    ["the placeholder version", { "image.tag": "" }, /tagged 0\.0\.0, a placeholder/],
    ["a disabled issuer", { "issuer.enabled": false }, /binds time out/],
    ["a reaper without an issuer", {
      ...{ "gateway.enabled": false, "issuer.enabled": false },
      ...{ "reaper.enabled": true, "reaper.revoke": true },
    }, /stale Grants stay until/],
    ["deleteBoundary", { "reaper.enabled": true, "reaper.deleteBoundary": true }, /has no effect/],
    ["no rights", { "rbac.create": false }, /xbind-backend needs the rights/],
  ];
  for (const [name, values, warning] of cases) {
    await t.step(name, async () => {
      const text = await notes({ ...SOUND, ...values });
      const [, warnings = ""] = text.split(/#{10,} WARNING #{10,}/);
      assert.match(warnings, warning);
      assert.equal(warnings.match(/^\* /gm)?.length, 1, warnings);
    });
  }
});

Deno.test("two replicas without cookie keys get the command that creates them:", async (t) => {
  const several = { ...SOUND, replicaCount: 2 };
  const command = `${MAKE_COOKIE_KEYS} --namespace xbind-system`;
  await t.step("NOTES print it", async () => {
    assert.ok((await notes(several)).includes(command));
  });
  await t.step("the backend logs it", async () => {
    for (const modules of [{}, { "issuer.enabled": false }]) {
      const { args } = containerOf(await render({ ...several, ...modules }));
      const invocation = parseConfig(args, {});
      const warnings = invocation.kind === "run" ? configWarnings(invocation.config) : [];
      assert.ok(warnings.some((warning) => warning.includes(MAKE_COOKIE_KEYS)), warnings.join());
    }
  });
  await t.step("cookieKeys.require refuses the release with it", async () => {
    const message = await refusal({ ...several, "cookieKeys.require": true });
    assert.ok(message.includes(command), message);
  });
  await t.step("cookieKeys.require accepts keys, and a release without a gateway", async () => {
    const required = { ...several, "cookieKeys.require": true };
    await render({ ...required, "cookieKeys.existingSecret": "keys" });
    await render({ ...required, "gateway.enabled": false });
    assert.doesNotMatch(await notes({ ...several, "cookieKeys.existingSecret": "k" }), /WARNING/);
  });
});
