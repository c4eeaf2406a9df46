import assert from "node:assert/strict";
import { KubeError } from "../../common/kube/kube_error.ts";
import { ConfigFileError, type KubeTarget } from "../../common/kube/kube_target.ts";
import { NoAnswerError } from "../../common/http/exchange.ts";
import { CliError } from "../cli_error.ts";
import { clusterText, consumerFailure } from "./consumer_failure.ts";

const TARGET: KubeTarget = {
  origin: 'context "dev" of config',
  server: "https://consumer.example.org",
  context: "dev",
  insecureSkipTlsVerify: false,
  auth: { kind: "none" },
  impersonation: {},
};

const noAnswer = (code: string) =>
  new NoAnswerError(Object.assign(new Error(code), { code }), false);

Deno.test("consumerFailure() gives a remedy for each failed call", async (t) => {
  const failed = (status: number, reason: string, cause?: unknown) =>
    new KubeError("Cannot get a: why", { status, reason, cause });
  const table: [error: KubeError, failure: string, remedy: RegExp][] = [
    [failed(401, "Unauthorized"), "failure", /Log in to that cluster/],
    [failed(403, "Forbidden"), "failure", /Ask an administrator/],
    [failed(422, "Invalid"), "failure", /safe to repeat/],
    [failed(0, "DeadlineExceeded"), "timeout", /Check that the cluster runs/],
    [failed(0, "ConnectionLost"), "failure", /Check that the cluster runs/],
    [failed(0, "ConnectionFailed", noAnswer("ECONNREFUSED")), "failure", /the cluster runs/],
    [failed(0, "ConnectionFailed", noAnswer("CERT_HAS_EXPIRED")), "failure", /certificate-auth/],
  ];
  for (const [error, failure, remedy] of table) {
    await t.step(`${error.status} ${error.reason}: ${failure}`, () => {
      const told = consumerFailure(error, TARGET);
      assert.ok(told instanceof CliError);
      assert.equal(told.failure, failure);
      assert.match(told.remedy ?? "", remedy);
      assert.equal(told.message, `Cannot get a: why, on context "dev" (${TARGET.server})`);
    });
  }
});

Deno.test("consumerFailure() keeps the remedy of a kubeconfig error, and returns other errors unchanged", () => {
  const told = consumerFailure(new ConfigFileError("f", "it is bad", "mend it"), TARGET);
  assert.ok(told instanceof CliError);
  assert.deepEqual([told.message, told.remedy], ["Cannot use f: it is bad", "Mend it"]);
  const bug = new TypeError("bug");
  assert.equal(consumerFailure(bug, TARGET), bug);
});

Deno.test("clusterText() names a cluster without a context by its server", () => {
  assert.equal(clusterText({ ...TARGET, context: "" }), TARGET.server);
});
