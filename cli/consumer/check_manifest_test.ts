import assert from "node:assert/strict";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../common/yaml.ts";
import { CliError } from "../cli_error.ts";
import { checkManifest, widerRule } from "./check_manifest.ts";

const IMAGE = "registry.example.org/konnector:v1";

// Tests reach into the manifest at will.
interface Tree {
  [key: string]: Tree & Tree[] & string;
}
const manifest = () => structuredClone(konnectorManifest(IMAGE)) as unknown as Tree[];
const edited = (kind: string, edit: (object: Tree) => void): object[] => {
  const objects = manifest();
  const found = objects.find((object) => object["kind"] === kind) ?? assert.fail(kind);
  edit(found);
  return objects;
};
const set = (kind: string, path: string, value: unknown): object[] =>
  edited(kind, (object) => {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    const parent = keys.reduce<Tree>((tree, key) => tree[key] ?? assert.fail(path), object);
    (parent as Record<string, unknown>)[last] = value;
  });

const POD = "spec.template.spec";
const CONTAINER = `${POD}.containers.0`;

Deno.test("checkManifest() accepts the manifest of a gateway of this version with any image", () => {
  assert.deepEqual(checkManifest(toYaml(manifest())), konnectorManifest(IMAGE));
});

Deno.test("checkManifest() accepts another order and returns ours", () => {
  assert.deepEqual(checkManifest(toYaml(manifest().reverse())), konnectorManifest(IMAGE));
});

Deno.test("checkManifest() accepts differences that stay within the konnector", async (t) => {
  const rules = [{ apiGroups: ["core.xbind.io"], resources: ["bindings"], verbs: ["get"] }];
  const table: [what: string, objects: object[]][] = [
    ["arguments", set("Deployment", `${CONTAINER}.args`, ["--leader-elect=true"])],
    ["replicas", set("Deployment", "spec.replicas", 2)],
    ["resources", set("Deployment", `${CONTAINER}.resources.limits`, { memory: "1Gi" })],
    ["patience", set("Deployment", `${CONTAINER}.livenessProbe.periodSeconds`, 60)],
    ["a pull policy", set("Deployment", `${CONTAINER}.imagePullPolicy`, "Always")],
    ["fewer permissions", set("ClusterRole", "rules", rules)],
    ["another schema", set("CustomResourceDefinition", "spec.versions.0.schema", { a: 1 })],
  ];
  for (const [what, objects] of table) {
    await t.step(what, () => assert.deepEqual(checkManifest(toYaml(objects)).length, 10));
  }
});

Deno.test("checkManifest() refuses a manifest with more than a konnector", async (t) => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a", namespace: "xbind" } };
  const aggregation = { clusterRoleSelectors: [{}] };
  const webhook = { strategy: "Webhook", webhook: { clientConfig: { url: "https://evil" } } };
  const admin = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const group = [{ kind: "Group", name: "system:unauthenticated" }];
  const host = [{ name: "host", hostPath: { path: "/" } }];
  const table: [what: string, objects: object[], reason: RegExp][] = [
    ["a foreign object", [...manifest(), secret], /Secret\/xbind\/a is not part/],
    ["an object in kube-system", set("ServiceAccount", "metadata.namespace", "kube-system"), /no/],
    ["another name", set("ClusterRoleBinding", "metadata.name", "admin"), /no ClusterRoleBinding/],
    ["an object less", manifest().slice(1), /it has no CustomResourceDefinition\/bindings/],
    ["an object twice", [...manifest(), ...manifest().slice(3, 4)], /twice/],
    ["another API version", set("Role", "apiVersion", "rbac.example.org/v1"), /"apiVersion"/],
    ["a label", set("Namespace", "metadata.labels.a", "b"), /Namespace\/xbind .*labels\.a/],
    ["a finalizer", set("Namespace", "metadata.finalizers", ["a/b"]), /metadata\.finalizers/],
    ["an owner", set("Role", "metadata.ownerReferences", [{}]), /metadata\.ownerReferences/],
    ["every verb", set("ClusterRole", "rules", admin), /it may \* \*\.\*/],
    ["more in the Role", set("Role", "rules", admin), /konnector-leaderelection asks for more/],
    ["aggregation", set("ClusterRole", "aggregationRule", aggregation), /aggregationRule/],
    ["another role", set("ClusterRoleBinding", "roleRef.name", "cluster-admin"), /roleRef\.name/],
    ["other subjects", set("ClusterRoleBinding", "subjects", group), /subjects/],
    ["a conversion", set("CustomResourceDefinition", "spec.conversion", webhook), /conversion/],
    ["another group", set("CustomResourceDefinition", "spec.group", "apps"), /spec\.group/],
    ["the host's network", set("Deployment", `${POD}.hostNetwork`, true), /hostNetwork/],
    ["the host's processes", set("Deployment", `${POD}.hostPID`, true), /hostPID/],
    ["volumes", set("Deployment", `${POD}.volumes`, host), /volumes/],
    ["mounts", set("Deployment", `${CONTAINER}.volumeMounts`, host), /volumeMounts/],
    ["init containers", set("Deployment", `${POD}.initContainers`, [{}]), /initContainers/],
    ["another account", set("Deployment", `${POD}.serviceAccountName`, "admin"), /serviceAcc/],
    ["root", set("Deployment", `${POD}.securityContext.runAsNonRoot`, false), /runAsNonRoot/],
    ["privileges", set("Deployment", `${CONTAINER}.securityContext.privileged`, true), /privil/],
    ["a host port", set("Deployment", `${CONTAINER}.ports.0.hostPort`, 80), /hostPort/],
    ["a command", set("Deployment", `${CONTAINER}.command`, ["sh"]), /command/],
    ["a probing command", set("Deployment", `${CONTAINER}.livenessProbe.exec`, {}), /exec/],
    ["secrets as variables", set("Deployment", `${CONTAINER}.env`, [{}]), /env/],
    ["two containers", set("Deployment", `${POD}.containers`, [{ image: "a" }, {}]), /containers/],
    ["no image", set("Deployment", `${CONTAINER}.image`, ""), /names no image/],
    ["an image that is none", set("Deployment", `${CONTAINER}.image`, "a\x1b[1m"), /no image/],
    ["a kind that is no text", set("Role", "kind", { a: 1 }), /it has no Role/],
    ["nothing", [], /names no image/],
  ];
  for (const [what, objects, reason] of table) {
    await t.step(what, () => {
      assert.throws(
        () => checkManifest(toYaml(objects)),
        (error) => error instanceof CliError && reason.test(error.message) && !!error.remedy,
      );
    });
  }
});

Deno.test("checkManifest() refuses text that is too expensive to parse", async (t) => {
  const table: [what: string, yaml: string][] = [
    ["no YAML", "{"],
    ["aliases", "a: &a [1]\nb: *a"],
    ["depth", "[".repeat(100_000)],
    ["length", "#".repeat(2 * 1024 * 1024)],
    ["parts", "a: 1\n".repeat(30_000)],
  ];
  for (const [what, yaml] of table) {
    await t.step(what, () => assert.throws(() => checkManifest(yaml), CliError));
  }
});

const OURS = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] },
  { apiGroups: ["*"], resources: ["*"], verbs: ["get"] },
];

const rule = (apiGroups: string[], resources: string[], verbs: string[], more: object = {}) => ({
  apiGroups,
  resources,
  verbs,
  ...more,
});

Deno.test("widerRule() finds permissions that ours do not include", async (t) => {
  const table: [what: string, given: unknown, wider: string | undefined][] = [
    ["ours", OURS, undefined],
    ["none", [], undefined],
    ["fewer verbs", [rule([""], ["secrets"], ["list"])], undefined],
    ["less than a wildcard", [rule(["apps"], ["pods/exec"], ["get"])], undefined],
    ["single names", [rule([""], ["secrets"], ["list"], { resourceNames: ["a"] })], undefined],
    ["another verb", [rule([""], ["secrets"], ["get", "delete"])], "it may delete secrets"],
    ["every verb", [rule([""], ["secrets"], ["*"])], "it may * secrets"],
    ["escalation", [rule(["rbac"], ["roles"], ["escalate"])], "it may escalate roles.rbac"],
    ["another group", [rule(["", "apps"], ["secrets"], ["list"])], "it may list secrets.apps"],
    ["a later rule", [...OURS, rule([""], ["*"], ["list"])], "it may list *"],
    ["URLs", [{ nonResourceURLs: ["*"], verbs: ["get"] }], "it has a rule of an unknown form"],
    ["a text as verbs", [{ ...OURS[0], verbs: "get" }], "it has a rule of an unknown form"],
    ["a number as verb", [{ ...OURS[0], verbs: [1] }], "it has a rule of an unknown form"],
    ["a rule that is no mapping", ["*"], "it has a rule of an unknown form"],
    ["no list", { 0: OURS[0] }, "its rules are not a list"],
    ["nothing", undefined, "its rules are not a list"],
  ];
  for (const [what, given, wider] of table) {
    await t.step(`${what}: ${wider ?? "fine"}`, () => {
      assert.equal(widerRule(given, OURS), wider);
    });
  }
});
