import assert from "node:assert/strict";
import { stringify } from "yaml";
import { REFUSED_CLUSTER_FIELDS, REFUSED_USER_FIELDS } from "../../common/api/kubeconfig_fields.ts";
import { peekKubeconfig } from "./kubeconfig_peek.ts";

const config = (cluster: object = {}, user: object = {}, root: object = {}) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    { name: "other", cluster: { server: "https://other.example" } },
    {
      name: "c",
      cluster: { "certificate-authority-data": "QUJD", server: "https://a:6443", ...cluster },
    },
  ],
  contexts: [
    { name: "other", context: { cluster: "other", user: "other" } },
    { name: "dev@c", context: { cluster: "c", user: "u", namespace: "x" } },
  ],
  "current-context": "dev@c",
  preferences: {},
  users: [{ name: "other", user: {} }, { name: "u", user: { token: "secret", ...user } }],
  ...root,
});
const FINE = { context: "dev@c", server: "https://a:6443", user: "u", problem: undefined };

/** Repeats the format of kubectl, in which lists are not indented. */
const KUBECTL = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: QUJD
    server: https://a:6443   # the one
  name: c
contexts:
- context: 
    cluster: c
    user: "u"
  name: 'dev@c'
current-context: "dev@c"
kind: Config
users:
- name: u
  user:
    client-key-data: |
      abc: def
      - x
    token: secret
`;

Deno.test("peekKubeconfig() finds context, server and user in every format", async (t) => {
  const texts: Record<string, string> = {
    kubectl: KUBECTL,
    "carriage returns": KUBECTL.replaceAll("\n", "\r\n"),
    "indented lists": stringify(config()),
    "flat lists": stringify(config(), { indentSeq: false }),
    "wide indentation": stringify(config(), { indent: 6 }),
    quoted: stringify(config(), { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" }),
    json: JSON.stringify(config()),
  };
  for (const [name, text] of Object.entries(texts)) {
    await t.step(name, () => assert.deepEqual(peekKubeconfig(text), FINE));
  }
});

Deno.test("peekKubeconfig() predicts the gateway's refusals", async (t) => {
  type Case = [name: string, kubeconfig: object, problem: RegExp];
  const refused = (field: string, kubeconfig: object): Case => [
    field,
    kubeconfig,
    new RegExp(`^It uses "${field}"`),
  ];
  const cases: Case[] = [
    ["no current-context", config({}, {}, { "current-context": "" }), /no current-context/],
    ["a dangling context", config({}, {}, { "current-context": "gone" }), /does not exist/],
    ["a dangling cluster", config({}, {}, { clusters: [] }), /no server/],
    ["plain http", config({ server: "http://a" }), /not an https/],
    ...REFUSED_CLUSTER_FIELDS.map((field) => refused(field, config({ [field]: "x" }))),
    ...REFUSED_USER_FIELDS.map((field) => refused(field, config({}, { [field]: "x" }))),
    refused("exec", config({}, { exec: { command: "aws" } })),
    refused("as-uid", config({}, { "as-uid": "1" })),
    refused("as-groups", config({}, { "as-groups": ["admins"] })),
    refused("as-user-extra", config({}, { "as-user-extra": { scopes: ["all"] } })),
    ["a long text", { x: "y".repeat(300_000) }, /256 KiB/],
  ];
  for (const [name, value, problem] of cases) {
    await t.step(name, () => {
      assert.match(peekKubeconfig(stringify(value))?.problem ?? "", problem);
    });
  }
});

Deno.test("peekKubeconfig() survives any text", () => {
  assert.equal(peekKubeconfig("  \n"), undefined);
  const odd = ["hello", "- - - a", ": :", "{", "a:\n  - b\n c: d", "\u0000", "[]", "null", "7"];
  for (const text of [...odd, "- ".repeat(5_000), "__proto__: x\ncurrent-context: y"]) {
    assert.ok(peekKubeconfig(text)?.problem, text.slice(0, 20));
  }
});
