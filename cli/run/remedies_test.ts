import assert from "node:assert/strict";
import { BY_MESSAGE, conditionRemedy, objectRemedy, SEE_KONNECTOR } from "./remedies.ts";

const PAGE = new URL("../../docs/konnector.md", import.meta.url);
const KONNECTOR = new URL("../../konnector/", import.meta.url);

/** Reasons that Events have, and no condition. */
const OF_EVENTS = [
  "Accepted",
  "ClockAgrees",
  "ClockDiffers",
  "CopyDeleted",
  "Fight",
  "Leftovers",
  "ProviderLost",
  "StatusRejected",
];
/** Words in the konnector's sources that are no reasons for concern. */
const OTHER_WORDS = [
  ...["AsExpected", "Conflict", "InvalidAnswer", "Normal", "Warning"],
  ...["True", "False", "Unknown"],
  ...["AutoBound", "Conflicts", "Connected", "PermissionDenied", "Ready", "SchemaInSync"],
  ...["SecretValid", "Synced"],
  ...[
    "Adopt",
    "All",
    "Apply",
    "Auto",
    "Cluster",
    "CRD",
    "CreateOnly",
    "Delete",
    "Fail",
    "FromConsumer",
  ],
  ...["FromProvider", "GET", "Namespaced", "None", "Once", "OpenAPI", "Orphan"],
  ...["Binding", "ClusterBinding", "ConfigMap", "CustomResourceDefinition", "Lease"],
  ...["LogicalCluster", "Namespace", "Secret"],
  ...["SelfSubjectRulesReview", "CrdRefusedError", "MalformedError", "SecretError"],
];

/** Reads the sources of the konnector, without tests. */
async function sources(folder = KONNECTOR): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) texts.push(await sources(new URL(`${name}/`, folder)));
    else if (!name.endsWith("_test.ts")) texts.push(await Deno.readTextFile(new URL(name, folder)));
  }
  return texts.join("\n");
}

Deno.test("every reason in the konnector's sources is in the page and has a remedy", async (t) => {
  const [code, page] = [await sources(), await Deno.readTextFile(PAGE)];
  const [, conditions = ""] = /^## Conditions\n(.*?)^## /ms.exec(page) ?? [];
  const words = new Set([...code.matchAll(/"([A-Z][A-Za-z]+)"/g)].map(([, word = ""]) => word));
  for (const word of [...OF_EVENTS, ...OTHER_WORDS]) {
    assert.ok(words.has(word), `${word} is no longer in the sources: take it off the list`);
  }
  const reasons = [...words].filter((word) => !OTHER_WORDS.includes(word));
  assert.ok(reasons.length >= 28, `${reasons.length} reasons`);
  for (const reason of reasons) {
    await t.step(reason, () => {
      const isOfEvents = OF_EVENTS.includes(reason);
      const where = isOfEvents ? page : conditions;
      assert.ok(where.includes(`\`${reason}\``), `${reason} is not in docs/konnector.md`);
      const remedy = conditionRemedy({ type: "", reason, message: "" });
      assert.ok(isOfEvents || remedy !== SEE_KONNECTOR, `${reason} has no remedy`);
    });
  }
});

Deno.test("every phrase that decides about a remedy is in the konnector's sources", async () => {
  const code = await sources();
  for (const { phrases } of BY_MESSAGE) {
    for (const phrase of phrases) assert.ok(code.includes(phrase), phrase);
  }
});

Deno.test("conditionRemedy() goes by the message where one reason means several things", async (t) => {
  const cases: [type: string, reason: string, message: string, remedy: RegExp][] = [
    ["Ready", "Pending", "The Connection a does not exist", /^Its Connection is gone/],
    ["Ready", "Pending", "Its CRD is being read", /^Wait/],
    ["PermissionDenied", "Forbidden", "Only objects in the namespace x are synced", /^Move/],
    ["PermissionDenied", "Forbidden", "The credential may not list a", /Bind again/i],
    ["Ready", "SchemaIncompatible", "This cluster refused the CRD a: no", /^This cluster refused/],
    ["SchemaInSync", "SchemaIncompatible", "The provider changed a so", /accept it/],
    ["Ready", "Rejected", "a is cluster-scoped: bind it with a ClusterBinding", /^Take the API/],
    ["Ready", "Rejected", "The provider serves no version of a that", /^The CRD here is out/],
    ["Ready", "Rejected", "Its CRD is not pulled: it is larger than 1 MiB", /cannot be pulled/],
    ["Conflicts", "ForeignObjectExists", "a: 1 in conflict", /conflictPolicy: Adopt; the rows/],
    ["Conflicts", "ForeignObjectExists", "secrets x/y is not copied: no", /^Related .* never/],
    [
      "Conflicts",
      "ForeignObjectExists",
      "a: 1 in conflict; secrets x/y is not copied: no",
      /.* Adopt; .* never/,
    ],
    ["SchemaInSync", "APINotExported", "The provider no longer has a", /^Unbind an API/],
    ["Ready", "AnnotationInvalid", "The annotation a is wrong", /^Correct/],
  ];
  for (const [type, reason, message, remedy] of cases) {
    await t.step(`${type} ${reason}: ${message}`, () => {
      assert.match(conditionRemedy({ type, reason, message }), remedy);
    });
  }
  for (const { remedy } of BY_MESSAGE) assert.ok(remedy.length < 200, remedy);
});

Deno.test("every reason in the page about conditions has a remedy in one line", async (t) => {
  const page = await Deno.readTextFile(PAGE);
  const [, conditions = ""] = /^## Conditions\n(.*?)^## /ms.exec(page) ?? [];
  const rows = [...conditions.matchAll(/^\| `(\w+)` +\| (`\w+`(?:, `\w+`)*) +\|/gm)]
    .flatMap(([, type = "", reasons = ""]) =>
      reasons.split(", ").map((reason) => ({ type, reason: reason.slice(1, -1) }))
    );
  assert.ok(rows.length >= 15, `${rows.length} rows`);
  for (const { type, reason } of rows) {
    await t.step(`${type} ${reason}`, () => {
      const remedy = conditionRemedy({ type, reason, message: "" });
      assert.notEqual(remedy, SEE_KONNECTOR);
      assert.ok(remedy.length < 200 && !remedy.includes("\n"), remedy);
    });
  }
  assert.equal(conditionRemedy({ type: "Ready", reason: "Unheard", message: "" }), SEE_KONNECTOR);
});

Deno.test("objectRemedy() tells what to do about each conflict and rejection", () => {
  const remedies = ["ForeignObjectExists", "OwnedByAnother", "Rejected", "Other"].map(objectRemedy);
  assert.equal(new Set(remedies).size, 4);
});
