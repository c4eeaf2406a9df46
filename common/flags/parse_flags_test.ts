import assert from "node:assert/strict";
import fc from "fast-check";
import { duration, flag, list, secret, text } from "./flag_kinds.ts";
import { parseFlags } from "./parse_flags.ts";

const word = {
  placeholder: "word",
  parse: (value: string) => value.includes("!") ? { problem: "has a bang" } : { value },
};
const TABLE = {
  "enable-reaper": flag(false, "A switch that is off"),
  "install-crds": flag(true, "A switch that is on"),
  "provider-name": text("xbind", "A text", word),
  "external-url": text("", "An optional text", word),
  "pickup-ttl": duration("5m", "A duration"),
  "scopes": list("a,b", "A list", word),
  "client-secret": secret("text", "A secret", (value) => ({ ...word.parse(value), part: value })),
} as const;

type Values = Readonly<Record<string, unknown>>;

const parse = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const parsed = parseFlags(TABLE, args, env);
  return { ...parsed, values: Object.fromEntries<unknown>(parsed.values) };
};

Deno.test("parseFlags() returns the default of every flag", () => {
  const { values, problems, action } = parse([]);
  assert.deepEqual(problems, []);
  assert.equal(action, undefined);
  assert.deepEqual(values, {
    "enable-reaper": false,
    "install-crds": true,
    "provider-name": "xbind",
    "external-url": "",
    "pickup-ttl": 300_000,
    "scopes": ["a", "b"],
    "client-secret": undefined,
  });
});

Deno.test("parseFlags() reads flags as Go does", async (t) => {
  const cases: readonly [readonly string[], Values][] = [
    [["--enable-reaper"], { "enable-reaper": true }],
    [["-enable-reaper"], { "enable-reaper": true }],
    [["--install-crds=false"], { "install-crds": false }],
    [["-install-crds=0"], { "install-crds": false }],
    [["--enable-reaper=T"], { "enable-reaper": true }],
    [["--provider-name=acme"], { "provider-name": "acme" }],
    [["--provider-name", "acme"], { "provider-name": "acme" }],
    [["-provider-name", "acme"], { "provider-name": "acme" }],
    [["--provider-name=a=b=c"], { "provider-name": "a=b=c" }],
    [["--provider-name", "-x"], { "provider-name": "-x" }],
    [["--provider-name=--enable-reaper"], { "provider-name": "--enable-reaper" }],
    [["--provider-name", "--", "-enable-reaper"], { "provider-name": "--", "enable-reaper": true }],
    [["--external-url="], { "external-url": "" }],
    [["--external-url", ""], { "external-url": "" }],
    [["--pickup-ttl=1m", "--pickup-ttl=2m"], { "pickup-ttl": 120_000 }],
    [["--enable-reaper", "--enable-reaper=false"], { "enable-reaper": false }],
    [["--scopes=x, y"], { "scopes": ["x", "y"] }],
    [["--scopes="], { "scopes": [] }],
  ];
  for (const [args, expected] of cases) {
    await t.step(args.join(" "), () => {
      const { values, problems } = parse(args);
      assert.deepEqual(problems, []);
      assert.deepEqual({ ...values, ...expected }, values);
    });
  }
});

Deno.test("parseFlags() explains each problem", async (t) => {
  const needsValue = "--provider-name needs a value: write --provider-name=<word>";
  const cases: readonly [string, readonly string[], readonly string[]][] = [
    ["a missing value at the end", ["--provider-name"], [needsValue]],
    ["a forgotten value before a flag", ["--provider-name", "--enable-reaper"], [needsValue]],
    ["a forgotten value before help", ["--provider-name", "-h"], [needsValue]],
    ["an empty value where one is needed", ["--provider-name="], [
      '--provider-name: "" is empty: give a value or leave the flag out',
    ]],
    ["another word", ["--enable-reaper=yes"], ['--enable-reaper: "yes" is neither true nor false']],
    ["an empty switch", ["--enable-reaper="], ['--enable-reaper: "" is neither true nor false']],
    ["a switch with its value behind a blank", ["--enable-reaper", "false"], [
      'unexpected argument "false" after --enable-reaper: write --enable-reaper=false',
    ]],
    ["an argument", ["serve"], ['unexpected argument "serve": there are only flags']],
    ["an empty argument", [""], ['unexpected argument "": there are only flags']],
    ["a lone dash", ["-"], ['unexpected argument "-": there are only flags']],
    ["an argument behind a value", ["--provider-name=a", "b"], [
      'unexpected argument "b" after --provider-name: quote values that contain blanks',
    ]],
    ["two dashes", ["--", "--scopes", "x"], ["--: there are only flags, no arguments after them"]],
    ["a bad item", ["--scopes=a,b!,c!"], ['--scopes: "b!" has a bang']],
    ["every bad occurrence", ["--pickup-ttl=x", "--pickup-ttl=5m"], [
      '--pickup-ttl: "x" is not a duration: write a number with a unit, as in 30s, 5m or 1h30m',
    ]],
    ["three dashes", ["---enable-reaper"], [
      "--enable-reaper is not written so: use --enable-reaper=<value>",
    ]],
    ["no name", ["--=x"], ["-- is not a flag: see --help"]],
    ["a name of Object", ["--constructor=x", "--__proto__", "--toString"], [
      "--constructor is not a flag: see --help",
      "--__proto__ is not a flag: see --help",
      "--toString is not a flag: see --help",
    ]],
    ["an unknown flag with its value", ["--nonsense", "x", "--provider-name=y!"], [
      "--nonsense is not a flag: see --help",
      '--provider-name: "y!" has a bang',
    ]],
    ["text that would steer a terminal", ["--provider-name=\u009b31m\u2028!"], [
      '--provider-name: "\\u009b31m\\u2028!" contains a line break or control character',
    ]],
    ["a long value", [`--provider-name=${"x".repeat(500)}!`], [
      `--provider-name: "${"x".repeat(100)}…" has a bang`,
    ]],
    ["a URL with a password", ["--provider-name=https://u:pw@h/!"], [
      '--provider-name: "https://…@h/!" has a bang',
    ]],
  ];
  for (const [name, args, expected] of cases) {
    await t.step(name, () => assert.deepEqual(parse(args).problems, expected));
  }
});

Deno.test("parseFlags() suggests the closest flag", async (t) => {
  const cases: readonly [string, string | undefined][] = [
    ["--enable-reapr", "--enable-reaper"],
    ["--enalbe-reaper", "--enable-reaper"],
    ["--Enable-Reaper", "--enable-reaper"],
    ["--enable_reaper", "--enable-reaper"],
    ["--pickup-tll=5m", "--pickup-ttl"],
    ["--no-install-crds", "--install-crds=false"],
    ["--disable-reaper", "--enable-reaper=false"],
    ["--reaper", "--enable-reaper"],
    ["--hlp", "--help"],
    ["--verison", "--version"],
    ["--x", undefined],
    ["--something-else", undefined],
  ];
  for (const [arg, suggestion] of cases) {
    await t.step(arg, () => {
      const [problem = ""] = parse([arg]).problems;
      const expected = suggestion ? `did you mean ${suggestion}?` : "see --help";
      assert.ok(problem.endsWith(`is not a flag: ${expected}`), problem);
    });
  }
});

Deno.test("parseFlags() answers help and version before anything else", () => {
  for (const arg of ["--help", "-help", "-h", "--h"]) {
    assert.equal(parse([arg]).action, "help", arg);
  }
  assert.equal(parse(["--nonsense", "--help", "--version"]).action, "help");
  assert.equal(parse(["--version"]).action, "version");
  assert.equal(parse(["-version", "--pickup-ttl=x"]).action, "version");
  assert.equal(parse(["--", "--help"]).action, undefined);
  assert.equal(parse(["--provider-name=--help"]).action, undefined);
  assert.equal(parse([], { XBIND_HELP: "true", XBIND_VERSION: "1" }).action, undefined);
});

Deno.test("parseFlags() reads flags that are not in the arguments from the environment", async (t) => {
  const cases: readonly [string, readonly string[], Readonly<Record<string, string>>, Values][] = [
    ["text", [], { XBIND_PROVIDER_NAME: "env" }, { "provider-name": "env" }],
    ["switches", [], { XBIND_INSTALL_CRDS: "false" }, { "install-crds": false }],
    ["flags win", ["--provider-name=a"], { XBIND_PROVIDER_NAME: "env" }, { "provider-name": "a" }],
    ["empty flags win", ["--external-url="], { XBIND_EXTERNAL_URL: "env" }, { "external-url": "" }],
    ["even over bad text", ["--pickup-ttl=1s"], { XBIND_PICKUP_TTL: "x" }, { "pickup-ttl": 1e3 }],
    ["empty means not set", [], { XBIND_PROVIDER_NAME: "", XBIND_INSTALL_CRDS: "" }, {}],
    ["a last line break is cut", [], { XBIND_PROVIDER_NAME: "env\n" }, { "provider-name": "env" }],
    ["so is a Windows one", [], { XBIND_PROVIDER_NAME: "env\r\n" }, { "provider-name": "env" }],
    ["unknown and unrelated ones are ignored", [], {
      XBIND_PORT: "tcp://10.0.0.1:80",
      XBIND_SERVICE_HOST: "10.0.0.1",
      PROVIDER_NAME: "no",
      xbind_provider_name: "no",
    }, {}],
  ];
  for (const [name, args, env, expected] of cases) {
    await t.step(name, () => {
      const { values, problems } = parse(args, env);
      assert.deepEqual(problems, []);
      assert.deepEqual(values, { ...parse([]).values, ...expected });
    });
  }
  await t.step("problems name the variable", () => {
    const { problems } = parse([], { XBIND_ENABLE_REAPER: "maybe" });
    assert.deepEqual(problems, ['XBIND_ENABLE_REAPER: "maybe" is neither true nor false']);
  });
});

Deno.test("parseFlags() never quotes a possible secret", async (t) => {
  const MARKER = "pa55w0rd";
  const cases: readonly (readonly string[])[] = [
    [`--client-secret=${MARKER}!`],
    ["--client-secret", `${MARKER}!`],
    ["--client-secret=x", MARKER],
    ["--client-secret=", MARKER, MARKER],
    [`--client-secret:${MARKER}`],
    [`--client-secret${MARKER}`],
    [`---client-secret=${MARKER}`],
    [`--client-secert=${MARKER}`],
    ["--client-secert", MARKER],
    ["--client-secert=x", MARKER],
    ["--client-secert", "x", MARKER],
    [`--client.secret/${MARKER}`],
  ];
  for (const args of cases) {
    await t.step(args.join(" "), () => {
      const { problems } = parse(args);
      assert.ok(problems.length > 0);
      assert.doesNotMatch(problems.join("\n"), new RegExp(MARKER));
    });
  }
  await t.step("from the environment", () => {
    const { problems } = parse([], { XBIND_CLIENT_SECRET: `${MARKER}!` });
    assert.deepEqual(problems, ["XBIND_CLIENT_SECRET: the value has a bang"]);
  });
});

Deno.test("parseFlags() marks which flags failed", () => {
  const { failed } = parse(["--pickup-ttl=x", "--provider-name"], { XBIND_SCOPES: "!" });
  assert.deepEqual([...failed].sort(), ["pickup-ttl", "provider-name", "scopes"]);
});

Deno.test("parseFlags() survives any arguments and keeps each problem on one line", () => {
  const odd = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("--pickup-ttl", "--enable-reaper", "--client-secret", "--", "-", "--scopes=!"),
  );
  fc.assert(fc.property(fc.array(odd), (args) => {
    for (const problem of parse(args).problems) assert.doesNotMatch(problem, /[\p{Cc}\n]/u);
  }));
});
