import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  configOf,
  GOOD_CLUSTER,
  GOOD_USER,
  submitted,
} from "../../tests/testdata/hostile_kubeconfigs/parts.ts";
import {
  decodeKubeconfig,
  InlineKubeconfigError,
  parseInlineKubeconfig,
} from "./inline_kubeconfig.ts";
import type { KubeTarget } from "./kube_target.ts";

const ALLOWED_FIELDS = [
  ...["origin", "context", "server", "insecureSkipTlsVerify", "impersonation", "auth"],
  ...["ca", "tlsServerName", "clientCertificate", "namespace"],
];
/** Is part of every value, so that the test notices a message that quotes one. */
const MARKER = "m4rk3r";

/** Parses a kubeconfig; fails the test for any failure but a plain refusal. */
function outcome(base64: string): KubeTarget | "refused" {
  try {
    return parseInlineKubeconfig(decodeKubeconfig(base64), { origin: "a test" });
  } catch (error) {
    assert.ok(error instanceof InlineKubeconfigError, String(error));
    assert.ok(!error.message.includes(MARKER), error.message);
    assert.ok(error.message.length < 200 && error.cause === undefined);
    return "refused";
  }
}

function assertHarmless(target: KubeTarget): void {
  for (const field of Object.keys(target)) assert.ok(ALLOWED_FIELDS.includes(field), field);
  assert.match(target.server, /^https:\/\/[^/@?#\\]+/);
  assert.deepEqual(target.impersonation, {});
  assert.equal(target.insecureSkipTlsVerify, false);
  assert.ok(["token", "basic", "none"].includes(target.auth.kind));
  const sources = [target.ca, target.clientCertificate?.cert, target.clientCertificate?.key];
  for (const source of sources) {
    assert.ok(!source || "data" in source, "nothing is read from files");
  }
  if (target.auth.kind === "token") assert.ok("data" in target.auth.token);
}

const value = fc.oneof(
  fc.constantFrom(MARKER, `/${MARKER}`, `https://${MARKER}.example`, "", null, true, false, 0),
  fc.constantFrom({ command: MARKER }, { name: MARKER, config: { exec: MARKER } }, [MARKER], {}),
  fc.string().map((text) => `${MARKER}${text}`),
  fc.jsonValue({ maxDepth: 3 }),
);
const field = fc.constantFrom(
  ...["exec", "auth-provider", "tokenFile", "token-file", "token", "username", "password"],
  ...["client-certificate", "client-key", "client-certificate-data", "client-key-data"],
  ...["as", "as-uid", "as-groups", "as-user-extra", "extensions", "__proto__", "constructor"],
  ...["certificate-authority", "certificate-authority-data", "proxy-url", "server"],
  ...["tls-server-name", "insecure-skip-tls-verify", "disable-compression", "name", "kind"],
);
const fields = fc.array(fc.tuple(field, value), { maxLength: 4 });

/** Writes JSON text by hand, because an object literal cannot hold a key `__proto__`. */
const objectText = (base: object, extra: readonly (readonly [string, unknown])[]): string =>
  `{${
    [...Object.entries(base), ...extra]
      .map(([key, each]) => `${JSON.stringify(key)}:${JSON.stringify(each)}`).join()
  }}`;

Deno.test("parseInlineKubeconfig() copies inline data or refuses, with any combination of fields", () => {
  let accepted = 0;
  fc.assert(
    fc.property(fields, fields, (ofCluster, ofUser) => {
      const text = JSON.stringify(configOf({ at: "c" }, { at: "u" }))
        .replace('{"at":"c"}', () => objectText(GOOD_CLUSTER, ofCluster))
        .replace('{"at":"u"}', () => objectText(GOOD_USER, ofUser));
      const target = outcome(submitted(text));
      if (target === "refused") return;
      accepted++;
      assertHarmless(target);
      const dangerous = new Map(ofUser).get("exec");
      const isUnused = dangerous === undefined || dangerous === null || dangerous === "" ||
        (typeof dangerous === "object" && Object.keys(dangerous).length === 0);
      assert.ok(isUnused, text);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(accepted > 20, `only ${accepted} were accepted`);
});

Deno.test("parseInlineKubeconfig() refuses everything that is not a kubeconfig", () => {
  const syntax = ["a:", " ", "\n", "- ", "&x", "*x", "!!", "|", ">", "{", "[", "---", "?"];
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.jsonValue().map((json) => JSON.stringify(json)),
    fc.array(fc.constantFrom(...syntax)).map((pieces) => pieces.join("")),
  );
  fc.assert(fc.property(text, (each) => assert.equal(outcome(submitted(each)), "refused")));
  const bytes = fc.uint8Array({ maxLength: 300 }).map((each) =>
    Buffer.from(each).toString("base64")
  );
  fc.assert(fc.property(bytes, (each) => assert.equal(outcome(each), "refused")));
  fc.assert(fc.property(fc.string(), (each) => assert.equal(outcome(each), "refused")));
});
