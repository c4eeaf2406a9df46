import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { createAuthority } from "../../scripts/controlplane/certificates.ts";
import type { BindingSpec } from "../../common/api/resources.ts";
import { bundleFor, bundleObjects, providerKubeconfig } from "../../common/consumer/bundle.ts";
import { toYaml } from "../../common/yaml.ts";
import { CliError } from "../cli_error.ts";
import { checkBundle } from "./check_bundle.ts";

type Fields = Record<string, unknown>;
const base64 = (text: string) => Buffer.from(text).toString("base64");
const NAME = "widgets-0123456789abcdef";
const LABELS = {
  matchLabels: { app: "x" },
  matchExpressions: [{ key: "tier", operator: "In" as const, values: ["a"] }],
};
const SPEC: Omit<BindingSpec, "connectionRef"> = {
  apis: [{ name: "widgets.example.org" }],
  conflictPolicy: "Adopt",
  relatedResources: [
    { resource: "secrets", direction: "FromProvider", selector: { names: ["a"] } },
    {
      group: "",
      resource: "configmaps",
      direction: "FromConsumer",
      selector: { labelSelector: LABELS },
    },
  ],
};
const SERVER = "https://provider.example.org:6443";
const KUBECONFIG = providerKubeconfig({
  server: SERVER,
  caData: base64((await createAuthority("provider")).cert),
  token: "a.b.c",
  namespace: "xbind-abc",
}) as {
  clusters: [{ name: string; cluster: Fields }];
  users: [{ name: string; user: Fields }];
  contexts: [{ name: string; context: Fields }];
};

/** Returns the bundle that a gateway sends. */
const sent = (kubeconfig = toYaml([KUBECONFIG])): unknown[] =>
  structuredClone(bundleObjects(bundleFor(NAME, kubeconfig, SPEC)));

/** Returns the bundle with another value at a path of one object; `undefined` deletes the field. */
function set(kind: "Secret" | "Connection" | "ClusterBinding", path: string, value: unknown) {
  const objects = sent() as Fields[];
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const object = objects.find((each) => each["kind"] === kind) ?? assert.fail(kind);
  const parent = keys.reduce<Fields>((tree, key) => tree[key] as Fields, object);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return objects;
}

// These return the bundle with other fields in one of its parts.
const spec = (fields: Fields) =>
  set("ClusterBinding", "spec", { connectionRef: { name: NAME }, ...SPEC, ...fields });
const kubeconfig = (fields: Fields) => sent(toYaml([{ ...KUBECONFIG, ...fields }]));
const cluster = (fields: Fields) => {
  const [{ name, cluster }] = KUBECONFIG.clusters;
  return kubeconfig({ clusters: [{ name, cluster: { ...cluster, ...fields } }] });
};
const user = (fields: Fields) => {
  const [{ name, user }] = KUBECONFIG.users;
  return kubeconfig({ users: [{ name, user: { ...user, ...fields } }] });
};
const two = (part: "clusters" | "users" | "contexts") =>
  kubeconfig({ [part]: [KUBECONFIG[part][0], { ...KUBECONFIG[part][0], name: "second" }] });

Deno.test("checkBundle() returns the bundle of a gateway of this version unchanged", () => {
  const bundle = checkBundle(sent(), NAME);
  assert.deepEqual(bundleObjects(bundle), sent());
  assert.equal(bundle.server, SERVER);
});

Deno.test("checkBundle() accepts other forms of the same bundle", async (t) => {
  const table: [what: string, given: unknown[]][] = [
    ["another order", sent().reverse()],
    ["a Secret without a type", set("Secret", "type", undefined)],
    ["a kubeconfig in another style", sent(`# ours\n${JSON.stringify(KUBECONFIG)}`)],
    ["empty preferences", kubeconfig({ preferences: {} })],
  ];
  for (const [what, given] of table) {
    await t.step(what, () => {
      assert.deepEqual(bundleObjects(checkBundle(given, NAME)), sent());
    });
  }
  await t.step("no certificate authority", () => {
    const { secret } = checkBundle(cluster({ "certificate-authority-data": undefined }), NAME);
    assert.ok(!secret.stringData.kubeconfig.includes("authority"));
  });
});

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
    ["another kind", set("Connection", "kind", "Role"), /no Connection/],
    ["another name", set("Secret", "metadata.name", "a"), /metadata\.name/],
    [
      "kube-system",
      set("Secret", "metadata.namespace", "kube-system"),
      /Secret .*metadata\.namespace/,
    ],
    ["an owner", set("Secret", "metadata.ownerReferences", [{}]), /ownerReferences/],
    [
      "a finalizer",
      set("ClusterBinding", "metadata.finalizers", ["a/b"]),
      /ClusterBinding .*finalizers/,
    ],
    ["labels", set("Secret", "metadata.labels", { a: "b" }), /labels/],
    ["annotations", set("Connection", "metadata.annotations", {}), /annotations/],
    ["a type", set("Secret", "type", "kubernetes.io/tls"), /"type"/],
    ["further data", set("Secret", "stringData.b", "c"), /stringData\.b/],
    ["encoded data", set("Secret", "data", { a: "" }), /"data"/],
    ["no kubeconfig", set("Secret", "stringData.kubeconfig", undefined), /no kubeconfig/],
    [
      "another Secret's credentials",
      set("Connection", "spec.kubeconfigSecretRef.name", "other"),
      /Connection .*kubeconfigSecretRef\.name/,
    ],
    ["auto-binding", set("Connection", "spec.autoBind", true), /autoBind/],
    ["another Connection", spec({ connectionRef: { name: "other" } }), /connectionRef\.name/],
    ["no API", spec({ apis: [] }), /apis is empty/],
    ["an API of Kubernetes", spec({ apis: [{ name: "deployments.apps" }] }), /not an API/],
    ["an API of ours", spec({ apis: [{ name: "grants.iam.xbind.io" }] }), /not an API/],
    ["an API that is a path", spec({ apis: [{ name: "../x.example.org" }] }), /not an API/],
    ["more about an API", spec({ apis: [{ name: "a.b.c", x: 1 }] }), /apis\[0\]\.x/],
    ["another policy", spec({ conflictPolicy: "Force" }), /conflictPolicy/],
    ["related pods", spec({ relatedResources: [{ resource: "pods" }] }), /relatedResources\[0\]/],
    ["a status", set("ClusterBinding", "status", {}), /"status"/],
    ["two clusters", two("clusters"), /"clusters"/],
    ["two users", two("users"), /"users"/],
    ["two contexts", two("contexts"), /"contexts"/],
    ["another context", kubeconfig({ "current-context": "b" }), /context that does not exist/],
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
    ["a client file", user({ "client-certificate": "/a" }), /client-certificate is not allowed/],
    ["impersonation", user({ as: "admin" }), /as is not allowed/],
    ["no token", user({ token: undefined }), /no token/],
    ["a token with a line break", user({ token: "a\nb: c" }), /no token/],
    ["a kubeconfig of another kind", kubeconfig({ kind: "List" }), /kind is not Config/],
    ["a TLS name", cluster({ "tls-server-name": "a" }), /unexpected value at ".*tls-server-name"/],
    ["a password", user({ token: undefined, username: "a" }), /no token/],
    ["extensions", kubeconfig({ extensions: [] }), /extensions/],
    ["aliases", sent("a: &a {}\nb: *a"), /YAML aliases/],
    ["a kubeconfig that is no YAML", sent("{"), /not valid YAML/],
    ["a huge kubeconfig", sent("#".repeat(300_000)), /over 256 KiB/],
  ];
  for (const [what, given, reason] of table) {
    await t.step(what, () => {
      assert.throws(
        () => checkBundle(given, NAME),
        (error) => error instanceof CliError && reason.test(error.message) && !!error.remedy,
      );
    });
  }
  for (const grant of ["", "A", "a/b", "a".repeat(64)]) {
    await t.step(`a Grant named "${grant}"`, () => {
      assert.throws(() => checkBundle(sent(), grant), /no valid name/);
    });
  }
});

Deno.test("checkBundle() never repeats credentials in its refusals", () => {
  const given = user({ token: "s3cret value" });
  assert.throws(() => checkBundle(given, NAME), (error) => !String(error).includes("s3cret"));
});
