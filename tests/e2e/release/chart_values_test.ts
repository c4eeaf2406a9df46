import assert from "node:assert/strict";
import { parseConfig } from "../../../server/config.ts";
import {
  CHART,
  containerOf,
  helm,
  refusal,
  render,
  VALUES,
  type Values,
} from "../../support/worlds/chart.ts";
import { OTHER_VALUES, REFUSED_VALUES } from "../../testdata/chart_values.ts";

/** Enables all modules, so that every value matters. */
const ALL_ON: Values = {
  replicaCount: 2,
  "reaper.enabled": true,
  "apply.enabled": true,
  "oidc.mock.enabled": true,
};

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}
const schema: Schema & { definitions: Record<string, Schema> } = JSON.parse(
  await Deno.readTextFile(`${CHART}values.schema.json`),
);

/** Yields the paths of all values and groups in the schema. */
function* schemaPaths({ properties = {} }: Schema, above = ""): Generator<[string, Schema]> {
  for (const [key, inner] of Object.entries(properties)) {
    const whole = schema.definitions[inner.$ref?.replace("#/definitions/", "") ?? ""] ?? inner;
    yield [`${above}${key}`, whole];
    yield* schemaPaths(whole, `${above}${key}.`);
  }
}

Deno.test("values.yaml and the tests have the same values", () => {
  assert.deepEqual(Object.keys(OTHER_VALUES).sort(), VALUES.map(({ path }) => path).sort());
});

Deno.test("values.schema.json has the same values as values.yaml", () => {
  const paths = VALUES.map(({ path }) => path);
  const known = new Set([...schemaPaths(schema)].map(([path]) => path));
  for (const path of paths) assert.ok(known.has(path), `${path} is not in the schema`);
  for (const path of known) {
    const isPart = paths.some((each) =>
      each === path || each.startsWith(`${path}.`) || path.startsWith(`${each}.`)
    );
    assert.ok(isPart || path === "global", `${path} is not in values.yaml`);
  }
});

Deno.test("every value of the chart changes its objects, and the backend accepts the flags", async (t) => {
  const usual = await render(ALL_ON);
  for (const [path, { other, given }] of Object.entries(OTHER_VALUES)) {
    await t.step(path, async () => {
      const before = { ...ALL_ON, ...given };
      const unchanged = given ? await render(before) : usual;
      const after = { ...before, [path]: other };
      if (path === "cookieKeys.require") {
        assert.match(await refusal(after), /kubectl create secret generic xbind-cookie-keys /);
        return;
      }
      const changed = await render(after);
      assert.notDeepEqual(changed, unchanged);
      assert.equal(parseConfig(containerOf(changed).args, {}).kind, "run");
    });
  }
});

Deno.test("values.schema.json refuses unknown values except under global", async (t) => {
  const closed = [...schemaPaths(schema)]
    .filter(([, { properties, additionalProperties }]) => properties && !additionalProperties)
    .map(([path]) => `${path}.`);
  assert.ok(closed.length > 20);
  for (const group of ["", ...closed]) {
    await t.step(`${group}unknown`, async () => {
      assert.match(await refusal({ [`${group}unknown`]: 1 }), /'unknown' not allowed/);
    });
  }
  await t.step("global.unknown is ignored", async () => {
    assert.deepEqual(await render({ "global.unknown": { a: 1 } }), await render({}));
  });
});

Deno.test("values.schema.json refuses the wrong type for every value", async (t) => {
  for (const { path, byDefault } of VALUES) {
    await t.step(path, async () => {
      const wrong = typeof byDefault === "object" ? "text" : [{}];
      const pointer = `at '/${path.replaceAll(".", "/")}'`;
      const message = await refusal({ [path]: wrong });
      assert.ok(message.includes(pointer), message);
    });
  }
});

Deno.test("values.schema.json refuses values that the backend or Kubernetes would refuse", async (t) => {
  for (const [path, value] of REFUSED_VALUES) {
    await t.step(`${path}: ${JSON.stringify(value)}`, async () => {
      assert.match(await refusal({ [path]: value }), /don't meet the specifications of the schema/);
    });
  }
});

Deno.test("the chart refuses a CA from a ConfigMap and a Secret", async () => {
  for (const path of ["gateway.externalCa", "oidc.ca"]) {
    const both = { existingConfigMap: "a", existingSecret: "b" };
    assert.match(await refusal({ [path]: both }), new RegExp(`${path} has both`));
  }
});

Deno.test("helm package writes an archive that renders the same", async () => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-chart-" });
  try {
    const { code, stderr } = await helm(["package", CHART, `--destination=${dir}`]);
    assert.equal(code, 0, stderr);
    const template = (chart: string) => helm(["template", "xbind", chart]);
    const { stdout } = await template(`${dir}/xbind-backend-0.0.0.tgz`);
    assert.equal(stdout, (await template(CHART)).stdout);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
