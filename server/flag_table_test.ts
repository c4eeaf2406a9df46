import assert from "node:assert/strict";
import { flagHelp } from "../common/flags/flag_help.ts";
import { PROGRAM } from "./config.ts";
import { FLAG_GROUPS, FLAGS } from "./flag_table.ts";

/** Repeats the documented default of every flag. */
const DOCUMENTED: Readonly<Record<string, string>> = {
  "enable-gateway": "true",
  "enable-issuer": "true",
  "enable-reaper": "false",
  "enable-apply": "false",
  "oidc-issuer-url": "",
  "oidc-client-id": "",
  "oidc-client-secret": "",
  "oidc-ca-file": "",
  "oidc-username-claim": "sub",
  "oidc-groups-claim": "",
  "oidc-scopes": "openid,profile,email",
  "oidc-redirect-url": "",
  "oidc-mock": "false",
  "oidc-mock-listen": "",
  "kubernetes-auth": "false",
  "authorization": "None",
  "authorization-user-prefix": "xbind:",
  "authorization-group-prefix": "xbind:",
  "authorization-revoke": "false",
  "cookie-signing-key": "",
  "cookie-encryption-key": "",
  "session-ttl": "12h",
  "external-ca-file": "",
  "pickup-ttl": "5m",
  "reaper-ttl": "30m",
  "reaper-interval": "1m",
  "install-crds": "true",
  "listen-address": ":8080",
  "provider-name": "xbind",
  "external-url": "",
  "konnector-image": "ghcr.io/xbind/konnector:latest",
  "external-address": "",
  "issuer-scope": "Cluster",
  "reaper-revoke": "false",
  "reaper-delete-boundary": "false",
  "reaper-hold-percent": "20",
  "reaper-max-percent": "10",
  "metrics-bind-address": ":8086",
  "health-probe-bind-address": ":8082",
  "leader-elect": "false",
  "leader-election-id": "backend.xbind.io",
  "kubeconfig": "",
  "rate-limit": "0",
  "apply-deny-cidrs": "169.254.0.0/16,fe80::/10,fd00:ec2::254/128",
  "apply-allow-insecure-tls": "false",
  "zap-devel": "false",
  "zap-encoder": "",
  "zap-log-level": "",
  "zap-stacktrace-level": "",
  "zap-time-encoding": "iso8601",
};

Deno.test("FLAGS has every documented flag with its default, and no others", () => {
  const actual = Object.entries(FLAGS).map(([name, flag]) => [name, flag.defaultText]);
  assert.deepEqual(Object.fromEntries(actual), DOCUMENTED);
  const secrets = Object.entries(FLAGS).filter(([, flag]) => flag.secret).map(([name]) => name);
  assert.deepEqual(secrets, ["oidc-client-secret", "cookie-signing-key", "cookie-encryption-key"]);
});

Deno.test("flagHelp() of all flags fits into 100 columns and leaves nothing out", () => {
  const help = flagHelp(PROGRAM, FLAG_GROUPS);
  for (const line of help.split("\n")) {
    assert.ok(line.length <= 100, line);
    assert.equal(line, line.trimEnd());
    assert.doesNotMatch(line, /\u00a0/);
  }
  for (const name of [...Object.keys(FLAGS), "help", "version"]) {
    assert.match(help, new RegExp(`^  --${name}(?: |$)`, "m"));
  }
  for (const heading of [...Object.keys(FLAG_GROUPS), "Information", "Exit codes"]) {
    assert.ok(help.includes(`\n${heading}:\n`), heading);
  }
  assert.match(help, /^ {2}0 .*\n {2}1 .*\n {2}2 .*\n$/m);
});

Deno.test("FLAG_GROUPS and FLAGS have the same flags", () => {
  const grouped = Object.values(FLAG_GROUPS).flatMap((table) => Object.keys(table));
  assert.deepEqual(grouped.sort(), Object.keys(FLAGS).sort());
});
