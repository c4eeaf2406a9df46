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
const manifest = () => JSON.parse(JSON.stringify(konnectorManifest(IMAGE))) as Tree[];
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
const TEMPLATE = "spec.template.metadata";

const APP = "app.kubernetes.io";
const NAME = { [`${APP}/name`]: "konnector" };
const SCRAPE = { "prometheus.io/scrape": "true", "kubectl.kubernetes.io/default-container": "a" };
const ROLLING = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } };
const PROBE = { httpGet: { path: "/readyz", port: "probes", scheme: "HTTP" }, failureThreshold: 9 };
const LIMIT = { containerName: "konnector", resource: "limits.memory", divisor: "1Mi" };

const EXEC = { exec: { command: ["sh"] } };
const INJECT = { "sidecar.example.org/inject": "true" };
const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-view";
const POD_SECURITY = "pod-security.kubernetes.io/enforce";

const env = (...variables: object[]) => set("Deployment", `${CONTAINER}.env`, variables);
const valueFrom = (source: object) => env({ name: "A", valueFrom: source });
const fieldRef = (fieldPath: string, apiVersion?: string) => ({
  name: "A",
  valueFrom: { fieldRef: { fieldPath, ...(apiVersion && { apiVersion }) } },
});
const described = (kind: string, field: "labels" | "annotations", key: string, value = "true") =>
  set(kind, `metadata.${field}`, { ...NAME, [key]: value });

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
    ["labels", described("Namespace", "labels", `${APP}/part-of`, "xbind")],
    ["a label less", set("Namespace", "metadata.labels", {})],
    ["a label of a role", described("ClusterRole", "labels", `${APP}/version`)],
    ["annotations", set("ServiceAccount", "metadata.annotations", { "core.xbind.io/a": "b" })],
    ["annotations of a CRD", set("CustomResourceDefinition", "metadata.annotations", {})],
    [
      "labels of the pod",
      set("Deployment", `${TEMPLATE}.labels`, { ...NAME, [`${APP}/version`]: "1" }),
    ],
    ["annotations of the pod", set("Deployment", `${TEMPLATE}.annotations`, SCRAPE)],
    ["a variable", env({ name: "LOG", value: "debug" })],
    ["an empty variable", env({ name: "LOG" })],
    ["the pod's name", env(fieldRef("metadata.name"), fieldRef("status.podIP", "v1"))],
    ["a limit as a variable", env({ name: "A", valueFrom: { resourceFieldRef: LIMIT } })],
    ["no variables", env()],
    ["Recreate", set("Deployment", "spec.strategy", { type: "Recreate" })],
    ["a rolling update", set("Deployment", "spec.strategy", ROLLING)],
    ["a startup probe", set("Deployment", `${CONTAINER}.startupProbe`, PROBE)],
    ["another probe", set("Deployment", `${CONTAINER}.readinessProbe`, { tcpSocket: { port: 1 } })],
    ["a probe by gRPC", set("Deployment", `${CONTAINER}.livenessProbe`, { grpc: { port: 1 } })],
    ["another path", set("Deployment", `${CONTAINER}.livenessProbe.httpGet.path`, "/live")],
    ["other requests", set("Deployment", `${CONTAINER}.resources.requests`, { cpu: 1 })],
    ["no resources", set("Deployment", `${CONTAINER}.resources`, {})],
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
  const probe = (value: object) => set("Deployment", `${CONTAINER}.livenessProbe`, value);
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
    [
      "a probe of another host",
      probe({ httpGet: { host: "10.0.0.1", port: 80 } }),
      /httpGet\.host/,
    ],
    ["a probe with headers", probe({ httpGet: { port: 80, httpHeaders: [] } }), /httpGet/],
    ["a probe by TCP elsewhere", probe({ tcpSocket: { host: "a", port: 80 } }), /tcpSocket/],
    [
      "a new probe by command",
      set("Deployment", `${CONTAINER}.startupProbe`, EXEC),
      /startupProbe/,
    ],
    ["a hook", set("Deployment", `${CONTAINER}.lifecycle`, { postStart: EXEC }), /lifecycle/],
    ["a variable without a name", env({}), /env/],
    ["a Secret as a variable", valueFrom({ secretKeyRef: { name: "a", key: "b" } }), /env/],
    ["a ConfigMap as a variable", valueFrom({ configMapKeyRef: { name: "a", key: "b" } }), /env/],
    ["a file as a variable", valueFrom({ fileKeyRef: { path: "a", key: "b" } }), /env/],
    ["a source and a Secret", valueFrom({ fieldRef: {}, secretKeyRef: {} }), /env/],
    ["an unknown source", valueFrom({ constructor: {} }), /env/],
    ["an annotation as a variable", env(fieldRef("metadata.annotations['a']")), /env/],
    ["a variable that is no text", env({ name: "A", value: { a: 1 } }), /env/],
    ["Secrets as variables", set("Deployment", `${CONTAINER}.envFrom`, [{}]), /envFrom/],
    [
      "a device",
      set("Deployment", `${CONTAINER}.resources.limits.devices/kvm`, 1),
      /limits\.devices/,
    ],
    ["claims", set("Deployment", `${CONTAINER}.resources.claims`, [{ name: "a" }]), /claims/],
    ["an unknown strategy", set("Deployment", "spec.strategy", { type: "A" }), /strategy/],
    ["another selector", set("Deployment", "spec.selector.matchLabels", {}), /matchLabels/],
    ["an aggregated role", described("ClusterRole", "labels", AGGREGATE), /labels\.rbac/],
    ["a role aggregated by others", described("ClusterRole", "labels", "a/b"), /labels\.a\/b/],
    ["relaxed pods", described("Namespace", "labels", POD_SECURITY, "privileged"), /pod-security/],
    ["a cloud role", described("ServiceAccount", "annotations", "cloud/role-arn"), /annotations/],
    ["an injected container", set("Deployment", `${TEMPLATE}.annotations`, INJECT), /annotations/],
    [
      "a label of the pod",
      set("Deployment", `${TEMPLATE}.labels.identity`, "a"),
      /labels\.identity/,
    ],
    ["an injected CA", described("CustomResourceDefinition", "annotations", "a/inject"), /annotat/],
    ["a label that is no text", set("Role", "metadata.labels", { [`${APP}/name`]: 1 }), /labels/],
    ["account secrets", set("ServiceAccount", "imagePullSecrets", [{ name: "a" }]), /imagePullSec/],
    ["tolerations", set("Deployment", `${POD}.tolerations`, [{ operator: "Exists" }]), /tolerat/],
    ["a node", set("Deployment", `${POD}.nodeName`, "control-plane"), /nodeName/],
    ["no user", set("Deployment", `${POD}.securityContext`, {}), /securityContext/],
    ["capabilities", set("Deployment", `${CONTAINER}.securityContext.capabilities`, {}), /capabil/],
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
