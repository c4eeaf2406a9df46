import assert from "node:assert/strict";
import { base64, type Env, OIDC, problems, run } from "../tests/support/programs/config_runs.ts";
import { type Config, configWarnings, parseConfig } from "./config.ts";
import { FLAGS } from "./flag_table.ts";
import { describeConfig } from "../common/flags/describe_config.ts";
import { envName } from "../common/flags/flag_kinds.ts";
import { logJson } from "../common/log/log_value.ts";

Deno.test("parseConfig() returns typed, frozen settings", () => {
  const config = run(OIDC);
  const expected: Config = {
    enableGateway: true,
    enableIssuer: true,
    enableReaper: false,
    enableApply: false,
    installCrds: true,
    listenAddress: ":8080",
    externalUrl: "",
    providerName: "xbind",
    konnectorImage: "ghcr.io/xbind/konnector:latest",
    pickupTtlMs: 300_000,
    rateLimit: 0,
    oidcIssuerUrl: "https://idp.example.com",
    oidcClientId: "xbind",
    oidcClientSecret: undefined,
    oidcCaFile: "",
    oidcUsernameClaim: "sub",
    oidcGroupsClaim: "",
    oidcScopes: ["openid", "profile", "email"],
    oidcRedirectUrl: "",
    oidcMock: false,
    oidcMockListen: "",
    kubernetesAuth: false,
    authorization: "None",
    authorizationUserPrefix: "xbind:",
    authorizationGroupPrefix: "xbind:",
    authorizationRevoke: false,
    sessionTtlMs: 43_200_000,
    cookieSigningKey: undefined,
    cookieEncryptionKey: undefined,
    issuerScope: "Cluster",
    externalAddress: "",
    externalCaFile: "",
    reaperTtlMs: 1_800_000,
    reaperIntervalMs: 60_000,
    reaperRevoke: false,
    reaperDeleteBoundary: false,
    reaperHoldPercent: 20,
    reaperMaxPercent: 10,
    applyDenyCidrs: ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"],
    applyAllowInsecureTls: false,
    kubeconfig: "",
    metricsBindAddress: ":8086",
    healthProbeBindAddress: ":8082",
    leaderElect: false,
    leaderElectionId: "backend.xbind.io",
    zapDevel: false,
    zapEncoder: "",
    zapLogLevel: "",
    zapStacktraceLevel: "",
    zapTimeEncoding: "iso8601",
  };
  assert.deepEqual({ ...config }, expected);
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.oidcScopes));
});

Deno.test("parseConfig() reads any flag from the environment, and a flag overrides it", async (t) => {
  const samples: Readonly<Record<string, readonly [string, string]>> = {
    url: ["https://a.example.com", "https://b.example.com"],
    address: ["127.0.0.1:1", "127.0.0.1:2"],
    duration: ["7m", "9m"],
    number: ["3", "4"],
    base64: [base64(16), base64(32)],
    level: ["debug", "2"],
    "cidr,…": ["10.0.0.0/8", "10.0.0.0/9"],
    "json|console": ["json", "console"],
    "Cluster|Namespace": ["Namespace", "Cluster"],
    "None|Kubernetes": ["None", "Kubernetes"],
    prefix: ["a:", "b:"],
    "info|warn|error|panic": ["info", "panic"],
    "iso8601|epoch|millis|nano|rfc3339|rfc3339nano": ["nano", "epoch"],
    "": ["true", "false"],
  };
  // With a way to log in, every combination of switches is valid.
  const base = {
    XBIND_OIDC_ISSUER_URL: "https://x",
    XBIND_OIDC_CLIENT_ID: "x",
    XBIND_AUTHORIZATION: "Kubernetes",
  };
  const settings = (args: readonly string[], env: Env) => reveal(run(args, { ...base, ...env }));
  for (const [name, { placeholder }] of Object.entries(FLAGS)) {
    await t.step(name, () => {
      const [low, high] = samples[placeholder] ?? ["aa", "bb"];
      const fromEnv = settings([], { [envName(name)]: low });
      assert.deepEqual(fromEnv, settings([`--${name}=${low}`], {}));
      const both = settings([`--${name}=${high}`], { [envName(name)]: low });
      assert.deepEqual(both, settings([`--${name}=${high}`], {}));
      assert.notDeepEqual(both, fromEnv);
    });
  }
});

const reveal = (config: Config) => ({
  ...config,
  oidcClientSecret: config.oidcClientSecret?.reveal(),
  cookieSigningKey: config.cookieSigningKey?.reveal(),
  cookieEncryptionKey: config.cookieEncryptionKey?.reveal(),
});

Deno.test("parseConfig() refuses bad values, naming the flag", async (t) => {
  const cases: readonly [string, RegExp][] = [
    ["--listen-address=8080", /^--listen-address: "8080" is not an address/],
    ["--listen-address=0", /^--listen-address: "0" is not an address/],
    ["--metrics-bind-address=", /^--metrics-bind-address: "" is empty/],
    ["--health-probe-bind-address=off", /^--health-probe-bind-address: "off" is not an address/],
    ["--external-url=example.com", /^--external-url: "example.com" is not a URL/],
    ["--external-url=https://a/?b", /^--external-url: .* must not contain a query/],
    ["--external-address=http://10.0.0.1:8080", /^--external-address: .* starts with https:\/\//],
    ["--external-address=HTTPS://a", /^--external-address: .* starts with https:\/\//],
    ["--external-address=10.0.0.1:6443", /^--external-address: .* starts with https:\/\//],
    ["--external-address=https://a/?b", /^--external-address: .* must not contain a query/],
    ["--external-address=https://u:p@a", /^--external-address: .* user name or password/],
    ["--external-address=https://a/@b", /^--external-address: .* no @/],
    ["--external-address=https://münchen.example", /^--external-address: .* ASCII/],
    ["--external-address=https://a/#b", /^--external-address: .* must not contain a fragment/],
    ["--oidc-issuer-url=https://a/?b", /^--oidc-issuer-url: .* must not contain a query/],
    ["--oidc-redirect-url=/cb", /^--oidc-redirect-url: "\/cb" is not a URL/],
    ["--oidc-mock-listen=:5556", /^--oidc-mock-listen: ":5556" is not a loopback address/],
    ["--oidc-username-claim=", /^--oidc-username-claim: "" is empty/],
    ["--oidc-scopes=openid profile", /^--oidc-scopes: "openid profile" is not an OAuth scope/],
    ["--provider-name=", /^--provider-name: "" is empty/],
    ["--konnector-image=", /^--konnector-image: "" is empty/],
    ["--issuer-scope=cluster", /^--issuer-scope: "cluster" is not one of Cluster, Namespace/],
    ["--issuer-scope=", /^--issuer-scope: "" is not one of Cluster, Namespace/],
    ["--pickup-ttl=0", /^--pickup-ttl: "0" is too short/],
    ["--session-ttl=-1h", /^--session-ttl: "-1h" is too short/],
    ["--reaper-ttl=30", /^--reaper-ttl: "30" is not a duration/],
    ["--reaper-interval=577h", /^--reaper-interval: "577h" is too long: it may be at most 576h/],
    ["--reaper-hold-percent=101", /^--reaper-hold-percent: "101" is too large: .* at most 100/],
    ["--reaper-hold-percent=-1", /^--reaper-hold-percent: "-1" is not a number/],
    ["--reaper-max-percent=100.5", /^--reaper-max-percent: "100.5" is too large: .* at most 100/],
    ["--reaper-max-percent=10%", /^--reaper-max-percent: "10%" is not a number/],
    ["--authorization=kubernetes", /^--authorization: "kubernetes" is not one of None, Kubernetes/],
    ["--authorization-user-prefix=", /^--authorization-user-prefix: "" is empty/],
    ["--authorization-group-prefix=system:", /^--authorization-group-prefix: .* of Kubernetes/],
    ["--authorization-group-prefix=sys", /^--authorization-group-prefix: .* at the end/],
    ["--authorization-group-prefix=kubeadm", /^--authorization-group-prefix: .* at the end/],
    ["--authorization-group-prefix=kubeadm:", /^--authorization-group-prefix: .* of Kubernetes/],
    ["--authorization-user-prefix=System:x/", /^--authorization-user-prefix: .* of Kubernetes/],
    ["--authorization-user-prefix=a b", /^--authorization-user-prefix: "a b" is not a prefix/],
    ["--leader-election-id=Backend", /^--leader-election-id: "Backend" is not a DNS subdomain/],
    ["--rate-limit=-1", /^--rate-limit: "-1" is not a number/],
    ["--apply-deny-cidrs=10.0.0.0/8,x", /^--apply-deny-cidrs: "x" is not a CIDR/],
    ["--zap-encoder=xml", /^--zap-encoder: "xml" is not one of json, console/],
    ["--zap-log-level=0", /^--zap-log-level: "0" is not a log level/],
    ["--zap-stacktrace-level=debug", /^--zap-stacktrace-level: "debug" is not one of/],
    ["--zap-time-encoding=unix", /^--zap-time-encoding: "unix" is not one of/],
    ["--cookie-signing-key=%%%", /^--cookie-signing-key: the value is not standard base64/],
    [`--cookie-encryption-key=${base64(20)}`, /^--cookie-encryption-key: .* decodes to 20 bytes/],
  ];
  for (const [arg, expected] of cases) {
    await t.step(arg, () => {
      const found = problems([...OIDC, arg]);
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", expected);
    });
  }
});

Deno.test("parseConfig() accepts good values", async (t) => {
  const cases: readonly [string, keyof Config, unknown][] = [
    ["--metrics-bind-address=0", "metricsBindAddress", "0"],
    ["--health-probe-bind-address=0", "healthProbeBindAddress", "0"],
    ["--listen-address=[::1]:0", "listenAddress", "[::1]:0"],
    ["--external-url=https://xbind.example.com/", "externalUrl", "https://xbind.example.com"],
    ["--external-address=https://10.0.0.1:6443", "externalAddress", "https://10.0.0.1:6443"],
    ["--oidc-issuer-url=https://idp.example.com/", "oidcIssuerUrl", "https://idp.example.com/"],
    ["--session-ttl=1h30m", "sessionTtlMs", 5_400_000],
    ["--pickup-ttl=300ms", "pickupTtlMs", 300],
    ["--session-ttl=8760h", "sessionTtlMs", 31_536_000_000],
    ["--rate-limit=0.5", "rateLimit", 0.5],
    ["--apply-deny-cidrs=", "applyDenyCidrs", []],
    ["--issuer-scope=Namespace", "issuerScope", "Namespace"],
  ];
  for (const [arg, key, expected] of cases) {
    await t.step(arg, () => assert.deepEqual(run([...OIDC, arg])[key], expected));
  }
});

Deno.test("parseConfig() decodes keys that contain line breaks", () => {
  const config = run(OIDC, {
    XBIND_COOKIE_SIGNING_KEY: `${base64(64).replace(/(.{20})/g, "$1\n")}\n`,
    XBIND_COOKIE_ENCRYPTION_KEY: base64(32),
    XBIND_OIDC_CLIENT_SECRET: "s3cret\n",
  });
  assert.deepEqual(config.cookieSigningKey?.reveal(), new Uint8Array(64).fill(107));
  assert.deepEqual(config.cookieEncryptionKey?.reveal(), new Uint8Array(32).fill(107));
  assert.equal(config.oidcClientSecret?.reveal(), "s3cret");
});

Deno.test("parseConfig() refuses combinations that cannot work", async (t) => {
  const OFF = ["--enable-gateway=false", "--enable-issuer=false"];
  const NOTHING = [...OFF, "--install-crds=false"];
  const [issuer = "", client = ""] = OIDC;
  const needsIssuer = /^--oidc-issuer-url is required/;
  const needsClient = /^--oidc-client-id is required/;
  const needsGateway = /^--enable-apply needs --enable-gateway/;
  const isIdle = /^there is nothing to do/;
  const cases: readonly [string, readonly string[], readonly RegExp[]][] = [
    ["a gateway without OIDC", [], [needsIssuer, needsClient]],
    ["a gateway without a client", [issuer], [needsClient]],
    ["a bad issuer is not a missing one", ["--oidc-issuer-url=x", client], [/is not a URL/]],
    ["the mock identity provider needs nothing", ["--oidc-mock"], []],
    ["the mock identity provider replaces real flags", ["--oidc-mock", ...OIDC], []],
    ["no gateway needs no OIDC", ["--enable-gateway=false"], []],
    ["apply without the gateway", ["--enable-gateway=false", "--enable-apply"], [needsGateway]],
    ["nothing but CRDs", OFF, []],
    ["nothing at all", NOTHING, [isIdle]],
    ["only the reaper", [...NOTHING, "--enable-reaper"], []],
    ["authorization that nobody asks for", [...OFF, "--authorization=Kubernetes"], [
      /^--authorization=Kubernetes needs --enable-gateway or --enable-issuer/,
    ]],
    [
      "authorization with an issuer only",
      ["--enable-gateway=false", "--authorization=Kubernetes"],
      [],
    ],
    ["revoking without authorization", [...OIDC, "--authorization-revoke"], [
      /^--authorization-revoke needs --authorization=Kubernetes/,
    ]],
    ["revoking without an issuer", [
      ...[...OIDC, "--authorization-revoke", "--authorization=Kubernetes", "--enable-issuer=false"],
    ], [/^--authorization-revoke needs --enable-issuer/]],
    ["apply and nothing else", [...NOTHING, "--enable-apply"], [needsGateway, isIdle]],
  ];
  for (const [name, args, expected] of cases) {
    await t.step(name, () => {
      const found = problems(args);
      assert.equal(found.length, expected.length, found.join("\n"));
      expected.forEach((pattern, i) => assert.match(found[i] ?? "", pattern));
    });
  }
});

Deno.test("parseConfig() lists every problem at once", () => {
  const args = "--pickup-ttl=5 serve --listen-adress=:1 --enable-apply --enable-gateway=0";
  assert.deepEqual(
    problems(args.split(" "), { XBIND_ISSUER_SCOPE: "All", XBIND_SESSION_TTL: "1d" }),
    [
      '--pickup-ttl: "5" is not a duration: write a number with a unit, as in 30s, 5m or 1h30m',
      'unexpected argument "serve" after --pickup-ttl: quote values that contain blanks',
      "--listen-adress is not a flag: did you mean --listen-address?",
      'XBIND_SESSION_TTL: "1d" is not a duration: write a number with a unit, as in 30s, 5m or 1h30m',
      'XBIND_ISSUER_SCOPE: "All" is not one of Cluster, Namespace',
      "--enable-apply needs --enable-gateway: the route belongs to the gateway",
    ],
  );
});

Deno.test("parseConfig() never shows a secret", async (t) => {
  const MARKER = "bWFya2VyLW1hcmtlcg"; // not a whole base64 text, so every key flag refuses it
  for (const name of ["cookie-signing-key", "cookie-encryption-key"]) {
    for (const bad of [MARKER, `${MARKER}====`, `-${MARKER}`, `${MARKER}A`.repeat(5)]) {
      await t.step(`--${name}=${bad.slice(0, 30)}`, () => {
        const fromArgs = problems([...OIDC, `--${name}=${bad}`, MARKER]);
        const fromEnv = problems(OIDC, { [envName(name)]: bad });
        assert.ok(fromEnv.length > 0 && fromArgs.length > fromEnv.length);
        assert.doesNotMatch([...fromArgs, ...fromEnv].join("\n"), new RegExp(MARKER));
      });
    }
  }
  await t.step("in help, descriptions, warnings, logs and inspection of good settings", () => {
    const key = `${MARKER}==`; // 13 bytes
    const args = [...OIDC, `--cookie-signing-key=${key}`, `--oidc-client-secret=${MARKER}`];
    const help = parseConfig([...args, "--help"], {});
    const config = run(args);
    const shown = [
      help.kind === "help" ? help.text : "",
      logJson(describeConfig(FLAGS, config)),
      configWarnings(config).join(),
      logJson(config),
      JSON.stringify(config),
      Deno.inspect(config, { depth: 10 }),
    ];
    assert.doesNotMatch(shown.join("\n"), /bWFya2|marker-|109,97,114/);
  });
});

Deno.test("parseConfig() answers --help and --version even if other flags are wrong", () => {
  assert.equal(parseConfig(["--version", "--nonsense"], {}).kind, "version");
  assert.equal(parseConfig(["--nonsense", "-h"], {}).kind, "help");
});
