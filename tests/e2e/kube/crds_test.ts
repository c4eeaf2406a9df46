import assert from "node:assert/strict";
import { parse } from "yaml";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  COLLECTIONS,
  CONNECTIONS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { mergePatch, patchedSample } from "../../testdata/crds/patched.ts";
import {
  documents,
  kubectl,
  stored,
  succeed,
  TYPES,
  withObject,
} from "../../testdata/crds/provider.ts";
import { SAMPLES } from "../../testdata/crds/samples.ts";

const CREATE = ["create", "--dry-run=server", "-f", "-"];
const REPLACE_STATUS = ["replace", "--subresource=status", "--dry-run=server", "-f", "-"];
const RULE = { resource: "secrets", direction: "FromProvider" };
const RULE_PATHS: [ResourceType, string][] = [
  [EXPORTS, "spec.defaults.relatedResources"],
  [GRANTS, "spec.relatedResources"],
  [CLUSTER_BINDINGS, "spec.relatedResources"],
  [BINDINGS, "spec.relatedResources"],
];

const testdata = (name: string): unknown =>
  parse(Deno.readTextFileSync(new URL(`../../testdata/crds/${name}`, import.meta.url)));

/** Pairs of a patch and the error message that it must cause. */
const rows = (patchesByMessage: Record<string, object[]>): [object, string][] =>
  Object.entries(patchesByMessage).flatMap(([says, patches]) =>
    patches.map((patch): [object, string] => [patch, says])
  );

/** Sends all objects with one kubectl, which goes on after an error and reports them in order. */
const expectRefusals = async (args: string[], cases: [KubeObject, string][]): Promise<void> => {
  const { stdout, stderr } = await kubectl(args, documents(...cases.map(([object]) => object)));
  assert.equal(stdout, "", "accepted, but should be refused");
  const messages = stderr.split(/^(?=Error from server)/m).filter((part) => part.trim() !== "");
  assert.equal(messages.length, cases.length, stderr);
  for (const [index, [object, says]] of cases.entries()) {
    const message = messages[index] ?? "";
    assert.ok(
      message.includes(says),
      `${JSON.stringify(object)}\n  said: ${message}\n  not: ${says}`,
    );
  }
};

/** `a.b` and a value as the object `{ a: { b: value } }`. */
const nested = (path: string, value: unknown): object =>
  path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;

for (const type of TYPES) {
  const samples = SAMPLES[type.kind];
  assert.ok(samples);

  Deno.test(`${type.kind}: the API server keeps every field of a complete sample`, async () => {
    const sample = patchedSample(type, `crds-complete-${type.plural}`);
    await withObject(sample, async () => {
      if (samples.complete.status) {
        await succeed(["replace", "--subresource=status", "-f", "-"], documents(sample));
      }
      const { spec, status } = await stored(sample);
      assert.deepEqual({ spec, ...(status ? { status } : {}) }, samples.complete);
    });
  });

  Deno.test(`${type.kind}: the API server accepts an object with only the required fields`, async () => {
    const object = { ...patchedSample(type, `crds-minimal-${type.plural}`), ...samples.minimal };
    await succeed(CREATE, documents(object));
  });
}

Deno.test("the API server accepts unusual but valid objects", async (t) => {
  const accepted = testdata("accepted.yaml") as Record<string, Record<string, object>>;
  for (const type of TYPES) {
    for (const [name, patch] of Object.entries(accepted[type.kind] ?? {})) {
      await t.step(`${type.kind}: ${name}`, async () => {
        await succeed(CREATE, documents(patchedSample(type, "crds-accepted", patch)));
      });
    }
  }
});

Deno.test("the API server refuses malformed objects and names the field", async (t) => {
  const rejected = testdata("rejected.yaml") as Record<string, Record<string, object[]>>;
  for (const type of TYPES) {
    await t.step(type.kind, async () => {
      const cases = rows(rejected[type.kind] ?? {});
      assert.ok(cases.length > 0);
      await expectRefusals(
        CREATE,
        cases.map(([patch, says]) => [patchedSample(type, "crds-rejected", patch), says]),
      );
    });
  }
});

Deno.test("the API server refuses malformed related-resource rules in every kind", async (t) => {
  const rejected = rows(testdata("rejected_rules.yaml") as Record<string, object[]>);
  for (const [type, path] of RULE_PATHS) {
    await t.step(type.kind, async () => {
      await expectRefusals(
        CREATE,
        rejected.map(([patch, says]) => {
          const rules = nested(path, [RULE, mergePatch(RULE, patch)]);
          return [patchedSample(type, "crds-rule", rules), `${path}[1]${says}`];
        }),
      );
    });
  }
});

Deno.test("the API server refuses malformed conditions in every kind", async (t) => {
  const rejected = rows(testdata("rejected_conditions.yaml") as Record<string, object[]>);
  const ready = {
    type: "Ready",
    status: "True",
    reason: "AsExpected",
    message: "",
    lastTransitionTime: "2026-01-02T03:04:05Z",
  };
  for (const type of TYPES.filter((each) => each !== COLLECTIONS)) {
    await t.step(type.kind, async () => {
      const sample = patchedSample(type, `crds-condition-${type.plural}`);
      const withConditions = (...conditions: unknown[]) =>
        mergePatch(sample, { status: { conditions } }) as KubeObject;
      await withObject(sample, async () => {
        await expectRefusals(REPLACE_STATUS, [
          [withConditions(ready, ready), 'status.conditions[1]: Duplicate value: {"type":"Ready"}'],
          ...rejected.map(([patch, says]): [KubeObject, string] => [
            withConditions(mergePatch(ready, patch)),
            `status.conditions[0]${says}`,
          ]),
        ]);
      });
    });
  }
});

Deno.test("the API server refuses a malformed status and names the field", async (t) => {
  const rejected = testdata("rejected_status.yaml") as Record<string, Record<string, object[]>>;
  for (const type of [GRANTS, CONNECTIONS, CLUSTER_BINDINGS, BINDINGS]) {
    await t.step(type.kind, async () => {
      const cases = rows(rejected[type.kind] ?? {});
      assert.ok(cases.length > 0);
      const name = `crds-status-${type.plural}`;
      await withObject(patchedSample(type, name), async () => {
        await expectRefusals(
          REPLACE_STATUS,
          cases.map(([patch, says]) => [patchedSample(type, name, patch), says]),
        );
      });
    });
  }
});

Deno.test("the API server refuses oversized objects", async (t) => {
  const text = (length: number) => "x".repeat(length);
  const apis = (length: number) =>
    Array.from({ length }, (_, index) => ({ name: `w${index}.example.org` }));
  const tooLong = (limit: number) => `Too long: may not be more than ${limit} bytes`;
  const tooMany = (limit: number) => `Too many: ${limit + 1}: must have at most ${limit} items`;
  const notMatching = "Invalid value";
  const table: [ResourceType, string, unknown, string, string?][] = [
    [EXPORTS, "spec.title", text(257), tooLong(256)],
    [EXPORTS, "spec.description", text(8193), tooLong(8192)],
    [EXPORTS, "spec.icon.url", text(2049), tooLong(2048)],
    [EXPORTS, "spec.docs", text(2049), tooLong(2048)],
    [EXPORTS, "spec.apis", [{ name: `a.${text(252)}` }], tooLong(253), "[0].name"],
    [EXPORTS, "spec.apis", [{ name: `${text(64)}.example.org` }], notMatching, "[0].name"],
    [COLLECTIONS, "spec.title", text(257), tooLong(256)],
    [COLLECTIONS, "spec.exports", apis(501), tooMany(500)],
    [GRANTS, "spec.identity.subject", text(2049), tooLong(2048)],
    [GRANTS, "spec.identity.groups", Array(1001).fill("a"), tooMany(1000)],
    [GRANTS, "spec.exportName", text(254), tooLong(253)],
    [CONNECTIONS, "spec.kubeconfigSecretRef.namespace", text(64), tooLong(63)],
  ];
  for (const [type, path] of RULE_PATHS) {
    const names = { ...RULE, selector: { names: apis(251).map(({ name }) => name) } };
    table.push(
      [type, "spec.apis", apis(101), tooMany(100)],
      [type, path, Array(51).fill(RULE), tooMany(50)],
      [type, path, [names], tooMany(250), "[0].selector.names"],
    );
  }
  for (const type of TYPES) {
    await t.step(type.kind, async () => {
      await expectRefusals(
        CREATE,
        table.filter(([of]) => of === type).map(([, path, value, says, within = ""]) => [
          patchedSample(type, "crds-oversized", nested(path, value)),
          `${path}${within}: ${says}`,
        ]),
      );
    });
  }
});
