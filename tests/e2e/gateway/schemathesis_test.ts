import assert from "node:assert/strict";
import { join } from "node:path";
import { schemathesis } from "../../../scripts/tools/schemathesis.ts";
import type { KubeObject } from "../../../common/api/resources.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { temporaryDir } from "../../support/planes/kube.ts";
import { SOAK_VARIABLE } from "../../support/planes/soak.ts";
import { TestKonnector } from "../../support/worlds/test_konnector.ts";

const program = await schemathesis();
const EXAMPLES = Deno.env.has(SOAK_VARIABLE) ? 1_000 : 100;

/** The checks of every answer. 500 is never documented, so it fails the first one. */
const CHECKS = [
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
  "negative_data_rejection",
  "unsupported_method",
];

interface Document {
  readonly paths: Record<string, Record<string, Record<string, unknown>>>;
}

/** Adds existing values to the document, so that some requests succeed. */
function withExamples(document: Document): Document {
  const instances = document.paths["/api/catalog/{export}/instances"]?.["get"];
  const [parameter] = instances?.["parameters"] as Record<string, unknown>[];
  if (parameter) parameter["example"] = "widgets";
  const bind = document.paths["/api/bind"]?.["post"];
  const { content } = bind?.["requestBody"] as { content: Record<string, { example?: unknown }> };
  for (const body of Object.values(content)) body.example = { export: "widgets" };
  return document;
}

Deno.test({
  name: "the gateway answers generated valid and invalid requests as documented",
  ignore: program === undefined,
  async fn() {
    assert.ok(program);
    await using plane = await ownPlane();
    await using gateway = await Gateway.start(plane, { flags: ["--enable-apply"] });
    using provider = await TestProvider.of(plane);
    await provider.define(WIDGETS);
    await provider.offerReady("widgets", [WIDGETS], { description: "Sample" });
    const { token } = await gateway.login();
    const { pickupURL } = await gateway.bind(token, "widgets");
    const { bundle } = await okJson<{ bundle: KubeObject[] }>(
      await gateway.request(pickupURL, { headers: { Accept: "application/json" } }),
    );
    using konnector = await TestKonnector.start(bundle, "a-cluster");
    await konnector.beat();
    await konnector.sync(customType(WIDGETS), "default", "synced");

    await using dir = await temporaryDir();
    const schema = join(dir.path, "openapi.json");
    const document = withExamples(await gateway.read<Document>(token, "/api/openapi.json"));
    await Deno.writeTextFile(schema, JSON.stringify(document));
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [
        "run",
        schema,
        `--url=${gateway.url}`,
        `--header=Authorization: Bearer ${token}`,
        `--checks=${CHECKS.join()}`,
        `--max-examples=${EXAMPLES}`,
        "--phases=examples,coverage,fuzzing",
        "--max-redirects=0",
        "--seed=1",
        "--no-color",
        // Schemathesis cannot read an answer with several YAML documents.
        "--exclude-path=/api/konnector",
      ],
      cwd: dir.path,
      stdin: "null",
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.ok(success, output);
    const operations = Object.values(document.paths).flatMap(Object.keys).length;
    assert.match(output, new RegExp(`Tested: ${operations - 1}\\b`), "one operation is left out");
    assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
    const unexpected = gateway.backend.log.filter(({ level }) => level === "error");
    assert.deepEqual(unexpected, []);
  },
});
