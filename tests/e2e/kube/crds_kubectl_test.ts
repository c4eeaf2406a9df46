import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  COLLECTIONS,
  CONNECTIONS,
  EXPORTS,
  GRANTS,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { patchedSample } from "../../testdata/crds/patched.ts";
import {
  documents,
  kubectl,
  resourceName,
  succeed,
  TYPES,
  withObject,
} from "../../testdata/crds/provider.ts";
import { SAMPLES } from "../../testdata/crds/samples.ts";
import { nodesOf, readCrds, type SchemaNode, schemaOf } from "../../testdata/crds/schema.ts";

const READY = {
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
};

Deno.test("the API server fills in defaults", async (t) => {
  const rule = { resource: "secrets", direction: "FromProvider" };
  const table: [ResourceType, object, object][] = [
    [
      CONNECTIONS,
      {},
      {
        kubeconfigSecretRef: { namespace: "xbind", name: "widgets", key: "kubeconfig" },
        schema: { source: "Auto", pullPolicy: "Bound", updatePolicy: "Always" },
        autoBind: false,
      },
    ],
    [CLUSTER_BINDINGS, {}, { conflictPolicy: "Fail" }],
    [BINDINGS, {}, { conflictPolicy: "Fail" }],
    [GRANTS, {}, {}],
    [GRANTS, { relatedResources: [rule] }, { relatedResources: [{ group: "", ...rule }] }],
    [EXPORTS, { defaults: {} }, { defaults: {} }],
  ];
  for (const [type, given, expected] of table) {
    await t.step(`${type.kind} ${JSON.stringify(given)}`, async () => {
      const minimal = SAMPLES[type.kind]?.minimal.spec;
      const object = { ...patchedSample(type, "crds-defaults"), spec: { ...minimal, ...given } };
      const args = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
      const { spec } = JSON.parse(await succeed(args, documents(object)));
      assert.deepEqual(spec, { ...minimal, ...expected });
    });
  }
});

Deno.test("kubectl get shows the columns of each kind", async (t) => {
  const table: [ResourceType, string, string[]][] = [
    [EXPORTS, "xexp", ["TITLE=Widgets", "READY=True"]],
    [COLLECTIONS, "xcol", ["TITLE=All"]],
    [GRANTS, "xgr", [
      "SUBJECT=https://idp.example.org#ada",
      "EXPORT=widgets",
      "NAMESPACE=xbind-0123456789abcdef0123",
      "READY=True",
      "STALE=False",
    ]],
    [CONNECTIONS, "xconn", ["READY=True", "SECRET=widgets"]],
    [CLUSTER_BINDINGS, "xcb", ["CONNECTION=widgets", "READY=True"]],
    [BINDINGS, "xb", ["CONNECTION=widgets", "READY=True"]],
  ];
  for (const [type, shortName, expected] of table) {
    await t.step(type.kind, async () => {
      const name = `crds-columns-${type.plural}`;
      await withObject(patchedSample(type, name), async () => {
        if (type !== COLLECTIONS) {
          const conditions = [READY, { ...READY, type: "Stale", status: "False" }];
          const judged = patchedSample(type, name, { status: { conditions } });
          await succeed(["replace", "--subresource=status", "-f", "-"], documents(judged));
          await succeed(["wait", "--for=condition=Ready", "--timeout=10s", `${shortName}/${name}`]);
        }
        const [head = "", row = ""] = (await succeed(["get", shortName, name])).split("\n");
        const cells = row.split(/\s+/);
        const shown = head.split(/\s+/).map((column, index) => `${column}=${cells[index]}`);
        assert.deepEqual(shown.slice(0, -1), [`NAME=${name}`, ...expected]);
        assert.match(shown.at(-1) ?? "", /^AGE=\d+s$/);
        const all = await succeed(["get", "xbind", "-o", "name"]);
        assert.ok(
          all.split("\n").includes(`${type.kind.toLowerCase()}.${type.group}/${name}`),
          all,
        );
      });
    });
  }
});

Deno.test("kubectl api-resources lists the six kinds in the category xbind", async () => {
  const listed = await succeed(["api-resources", "--categories=xbind", "-o", "name"]);
  assert.deepEqual(
    listed.trim().split("\n").toSorted(),
    TYPES.map(resourceName).toSorted(),
  );
});

/** Waits until the API server has published a schema, which follows the CRD with some delay. */
const published = async (explain: string[], group: string): Promise<void> => {
  const deadline = AbortSignal.timeout(30_000);
  for (;;) {
    const { code, stdout, stderr } = await kubectl(explain);
    if (code === 0 && stdout.includes(group)) return;
    assert.ok(!deadline.aborted, stderr);
    await delay(100);
  }
};

/** Paths in a schema that have fields, in the syntax of kubectl explain. */
const explainable = (schema: SchemaNode): string[] =>
  [...nodesOf(schema)].filter(({ node }) => node.properties)
    .map(({ path }) => path.replaceAll("[]", ""));

for (const { crd } of readCrds()) {
  const { plural, kind } = crd.spec.names;
  const explain = (path: string) => [
    "explain",
    `--api-version=${crd.spec.group}/v1alpha1`,
    plural + path,
  ];

  Deno.test(`kubectl explain describes every field of ${kind}`, async () => {
    const paths = explainable(schemaOf(crd));
    assert.ok(paths.length > 2);
    await published(explain(""), crd.spec.group);
    for (const path of paths) {
      const text = await succeed(explain(path));
      assert.match(text, /FIELDS:/);
      assert.doesNotMatch(text, /<no description>|<empty>/, path);
    }
  });
}

Deno.test("the API server accepts the manifests in examples/widgets", async () => {
  // Another group keeps the demo's CRD out of the shared provider.
  const example = (name: string) =>
    Deno.readTextFileSync(new URL(`../../../examples/widgets/${name}`, import.meta.url))
      .replaceAll("example.org", "crds-examples.example.org");
  const crd = example("crd.yaml");
  try {
    await succeed(["apply", "--server-side", "-f", "-"], crd);
    await succeed(["wait", "--for=condition=Established", "--timeout=30s", "-f", "-"], crd);
    const others = ["ca", "export", "collection", "controller", "widget"];
    for (const name of others.map((each) => `${each}.yaml`)) {
      await succeed(["create", "--dry-run=server", "-f", "-"], example(name));
    }
    const exportable = await succeed([
      "get",
      "crd",
      "-l",
      "core.xbind.io/exported=true",
      "-o",
      "name",
    ]);
    assert.match(exportable, /\/widgets\.crds-examples\.example\.org$/m);
    assert.match(example("export.yaml"), /- name: widgets\.crds-examples\.example\.org$/m);
  } finally {
    await succeed(["delete", "--ignore-not-found", "-f", "-"], crd);
  }
});
