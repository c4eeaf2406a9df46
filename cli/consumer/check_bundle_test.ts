import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { parse, stringify } from "yaml";
import { createAuthority } from "../../scripts/controlplane/certificates.ts";
import type { BindingSpec } from "../../common/api/resources.ts";
import { bundleFor, bundleObjects, providerKubeconfig } from "../../common/consumer/bundle.ts";
import { toYaml } from "../../common/yaml.ts";
import { CliError } from "../cli_error.ts";
import { checkBundle } from "./check_bundle.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const NAME = "widgets-0123456789abcdef";
const SPEC: Omit<BindingSpec, "connectionRef"> = {
  apis: [{ name: "widgets.example.org" }],
  conflictPolicy: "Adopt",
  relatedResources: [
    { resource: "secrets", direction: "FromProvider", selector: { names: ["a"] } },
    {
      group: "",
      resource: "configmaps",
      direction: "FromConsumer",
      selector: {
        labelSelector: {
          matchLabels: { app: "x" },
          matchExpressions: [{ key: "tier", operator: "In", values: ["a"] }],
        },
      },
    },
  ],
};
const SERVER = "https://provider.example.org:6443";
const KUBECONFIG = providerKubeconfig({
  server: SERVER,
  caData: base64((await createAuthority("provider")).cert),
  token: "a.b.c",
  namespace: "xbind-abc",
});

type Fields = Record<string, unknown>;
interface Parts {
  secret: Fields & { metadata: Fields; stringData: Record<string, string> };
  connection: Fields & { metadata: Fields; spec: Fields & { kubeconfigSecretRef: Fields } };
  binding: Fields & { metadata: Fields; spec: Fields };
}

/** What a gateway sends, after some edit. */
function sent(edit: (parts: Parts) => void = () => {}): unknown[] {
  const bundle = structuredClone(bundleFor(NAME, toYaml([KUBECONFIG]), SPEC));
  edit(bundle as unknown as Parts);
  return bundleObjects(bundle);
}

interface Kubeconfig extends Fields {
  clusters: { name: string; cluster: Fields }[];
  users: { name: string; user: Fields }[];
  contexts: { name: string; context: Fields }[];
}

/** What a gateway sends, after some edit of the kubeconfig inside. */
const sentKubeconfig = (edit: (kubeconfig: Kubeconfig) => void): unknown[] =>
  sent(({ secret }) => {
    const kubeconfig = parse(secret.stringData["kubeconfig"] ?? "");
    edit(kubeconfig);
    secret.stringData["kubeconfig"] = stringify(kubeconfig, { aliasDuplicateObjects: false });
  });
const addSecond = (entries: { name: string }[]) =>
  void entries.push(...entries.map((entry) => ({ ...entry, name: "second" })));
const cluster = (fields: Fields) =>
  sentKubeconfig(({ clusters: [first] }) => void Object.assign(first?.cluster ?? {}, fields));
const user = (fields: Fields) =>
  sentKubeconfig(({ users: [first] }) => void Object.assign(first?.user ?? {}, fields));
const spec = (fields: Fields) => sent(({ binding }) => void Object.assign(binding.spec, fields));
const text = (kubeconfig: string) =>
  sent(({ secret }) => void (secret.stringData["kubeconfig"] = kubeconfig));

Deno.test("checkBundle() returns the bundle of a gateway of this version unchanged", () => {
  const bundle = checkBundle(sent(), NAME);
  assert.deepEqual(bundleObjects(bundle), sent());
  assert.equal(bundle.server, SERVER);
});

Deno.test("checkBundle() accepts other forms of the same bundle", async (t) => {
  const table: [what: string, given: unknown[]][] = [
    ["another order", sent().reverse()],
    ["a Secret without a type", sent(({ secret }) => delete secret["type"])],
    [
      "a kubeconfig in another style",
      text(`# ours\n${JSON.stringify(parse(kubeconfigIn(sent())))}`),
    ],
    ["empty preferences", sentKubeconfig((kubeconfig) => void (kubeconfig["preferences"] = {}))],
  ];
  for (const [what, given] of table) {
    await t.step(what, () => {
      assert.deepEqual(bundleObjects(checkBundle(given, NAME)), sent());
    });
  }
  await t.step("no certificate authority", () => {
    const given = cluster({ "certificate-authority-data": undefined });
    assert.ok(!kubeconfigIn(bundleObjects(checkBundle(given, NAME))).includes("authority"));
  });
});

const kubeconfigIn = ([secret]: unknown[]): string =>
  (secret as Parts["secret"]).stringData["kubeconfig"] ?? "";

Deno.test("checkBundle() refuses everything but an exact bundle", async (t) => {
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh" };
  const [first] = sent();
  const table: [what: string, given: unknown, reason: RegExp][] = [
    ["nothing", undefined, /three objects/],
    ["no list", { ...sent() }, /three objects/],
    ["two objects", sent().slice(1), /three objects/],
    ["four objects", [...sent(), first], /three objects/],
    ["two Secrets", [first, first, sent()[2]], /no Connection/],
    ["texts", ["Secret", "Connection", "ClusterBinding"], /no Secret/],
    ["another kind", sent(({ connection }) => void (connection["kind"] = "Role")), /no Connection/],
    ["another name", sent(({ secret }) => void (secret.metadata["name"] = "a")), /metadata\.name/],
    [
      "another namespace",
      sent(({ secret }) => void (secret.metadata["namespace"] = "kube-system")),
      /Secret .*metadata\.namespace/,
    ],
    [
      "an owner",
      sent(({ secret }) => void (secret.metadata["ownerReferences"] = [{}])),
      /ownerReferences/,
    ],
    [
      "a finalizer",
      sent(({ binding }) => void (binding.metadata["finalizers"] = ["a/b"])),
      /ClusterBinding .*finalizers/,
    ],
    ["labels", sent(({ secret }) => void (secret.metadata["labels"] = { a: "b" })), /labels/],
    [
      "annotations",
      sent(({ connection }) => void (connection.metadata["annotations"] = {})),
      /ann/,
    ],
    ["a type", sent(({ secret }) => void (secret["type"] = "kubernetes.io/tls")), /"type"/],
    ["further data", sent(({ secret }) => void (secret.stringData["b"] = "c")), /stringData\.b/],
    ["encoded data", sent(({ secret }) => void (secret["data"] = { a: "" })), /"data"/],
    [
      "no kubeconfig",
      sent(({ secret }) => delete secret.stringData["kubeconfig"]),
      /no kubeconfig/,
    ],
    [
      "another Secret's credentials",
      sent(({ connection }) => void (connection.spec.kubeconfigSecretRef["name"] = "other")),
      /Connection .*kubeconfigSecretRef\.name/,
    ],
    [
      "auto-binding",
      sent(({ connection }) => void (connection.spec["autoBind"] = true)),
      /autoBind/,
    ],
    ["another Connection", spec({ connectionRef: { name: "other" } }), /connectionRef\.name/],
    ["no API", spec({ apis: [] }), /apis is empty/],
    ["an API of Kubernetes", spec({ apis: [{ name: "deployments.apps" }] }), /not an API/],
    ["an API of ours", spec({ apis: [{ name: "grants.iam.xbind.io" }] }), /not an API/],
    ["an API that is a path", spec({ apis: [{ name: "../x.example.org" }] }), /not an API/],
    ["more about an API", spec({ apis: [{ name: "a.b.c", x: 1 }] }), /apis\[0\]\.x/],
    ["another policy", spec({ conflictPolicy: "Force" }), /conflictPolicy/],
    ["related pods", spec({ relatedResources: [{ resource: "pods" }] }), /relatedResources\[0\]/],
    ["a status", sent(({ binding }) => void (binding["status"] = {})), /"status"/],
    ["two clusters", sentKubeconfig((all) => addSecond(all.clusters)), /"clusters"/],
    ["two users", sentKubeconfig((all) => addSecond(all.users)), /"users"/],
    ["two contexts", sentKubeconfig((all) => addSecond(all.contexts)), /"contexts"/],
    [
      "another context",
      sentKubeconfig((all) => void (all["current-context"] = "b")),
      /context that does not exist/,
    ],
    ["http", cluster({ server: "http://provider.example.org" }), /https:\/\/host/],
    ["a user in the URL", cluster({ server: "https://a@b.example.org" }), /https:\/\/host/],
    ["no server", cluster({ server: undefined }), /https:\/\/host/],
    ["no verification", cluster({ "insecure-skip-tls-verify": true }), /insecure-skip-tls-verify/],
    ["a proxy", cluster({ "proxy-url": "http://evil.example.org" }), /proxy-url/],
    [
      "a CA file",
      cluster({ "certificate-authority": "/etc/ca" }),
      /certificate-authority is not allowed/,
    ],
    ["a CA that is none", cluster({ "certificate-authority-data": base64("a") }), /PEM/],
    ["a CA in other base64", cluster({ "certificate-authority-data": "*" }), /base64/],
    ["a command", user({ exec }), /exec is not allowed/],
    ["a token file", user({ tokenFile: "/etc/passwd" }), /tokenFile is not allowed/],
    [
      "a certificate file",
      user({ "client-certificate": "/etc/a" }),
      /client-certificate is not allowed/,
    ],
    ["impersonation", user({ as: "admin" }), /as is not allowed/],
    ["no token", user({ token: undefined }), /no token/],
    ["a token with a line break", user({ token: "a\nb: c" }), /no token/],
    [
      "a kubeconfig of another kind",
      sentKubeconfig((all) => void (all["kind"] = "List")),
      /kind is not Config/,
    ],
    [
      "a TLS name",
      cluster({ "tls-server-name": "a.b" }),
      /unexpected value at ".*tls-server-name"/,
    ],
    ["a password", user({ token: undefined, username: "a" }), /no token/],
    ["extensions", sentKubeconfig((all) => void (all["extensions"] = [])), /extensions/],
    ["aliases", text("a: &a {}\nb: *a"), /YAML aliases/],
    ["a kubeconfig that is no YAML", text("{"), /not valid YAML/],
    ["a huge kubeconfig", text("#".repeat(300_000)), /over 256 KiB/],
  ];
  for (const [what, given, reason] of table) {
    await t.step(what, () => {
      assert.throws(
        () => checkBundle(given, NAME),
        (error) => error instanceof CliError && reason.test(error.message) && !!error.remedy,
      );
    });
  }
  for (const grant of ["", "A", "a/b", `${"a".repeat(64)}`]) {
    await t.step(`a Grant named "${grant}"`, () => {
      assert.throws(() => checkBundle(sent(), grant), /no valid name/);
    });
  }
});

Deno.test("checkBundle() never repeats credentials in its refusals", () => {
  const given = user({ token: "s3cret value" });
  assert.throws(() => checkBundle(given, NAME), (error) => !String(error).includes("s3cret"));
});
