import assert from "node:assert/strict";
import { KubeError } from "../../common/kube/kube_error.ts";
import { isStalePatch, reasonOf, type Refusal, refusalOf, shownReason } from "./refusals.ts";

const kubeError = (status: number, reason: string, message: string) =>
  new KubeError(`Cannot apply as "n/a": ${message}`, { status, reason });

Deno.test("refusalOf()", async (t) => {
  const cases: [Refusal, number, string, string][] = [
    ["passing", 0, "ConnectionLost", "the connection broke"],
    ["passing", 429, "TooManyRequests", "slow down"],
    ["passing", 500, "InternalError", "etcdserver: leader changed"],
    ["passing", 503, "ServiceUnavailable", "the server answered 503"],
    ["rejected", 500, "InternalError", "etcdserver: request is too large"],
    [
      "rejected",
      500,
      "InternalError",
      "rpc error: code = ResourceExhausted desc = trying to send message larger than max " +
      "(2200000 vs. 2097152)",
    ],
    ["rejected", 413, "RequestEntityTooLarge", "limit is 3145728"],
    ["unauthorized", 401, "Unauthorized", "Unauthorized"],
    ["notFound", 404, "NotFound", 'namespaces "n" not found'],
    ["otherObject", 409, "Conflict", "the object has been modified"],
    ["otherObject", 422, "Invalid", 'A "a" is invalid: metadata.uid: Invalid value: "x"'],
    ["rejected", 422, "Invalid", 'A "a" is invalid: spec.size: Invalid value: 5'],
    ["rejected", 400, "BadRequest", "unknown field"],
    ["rejected", 409, "AlreadyExists", "exists"],
    ["rejected", 403, "Forbidden", 'admission webhook "w" denied the request: no'],
    ["rejected", 403, "Forbidden", 'as "a" is forbidden: exceeded quota: q'],
    [
      "namespaceTerminating",
      403,
      "Forbidden",
      'as "a" is forbidden: unable to create new content in namespace n because it is being ' +
      "terminated",
    ],
    ["forbidden", 403, "Forbidden", 'as is forbidden: User "u" cannot patch resource "as"'],
  ];
  for (const [expected, status, reason, message] of cases) {
    await t.step(`${status} ${message}`, () => {
      assert.equal(refusalOf(kubeError(status, reason, message)), expected);
    });
  }
  await t.step("a bug of ours", () => assert.equal(refusalOf(new TypeError("x")), undefined));
});

Deno.test("isStalePatch()", async (t) => {
  const cases: [boolean, unknown][] = [
    [true, kubeError(404, "NotFound", "gone")],
    [true, kubeError(409, "Conflict", "changed")],
    [true, kubeError(422, "Invalid", "the server rejected our request: testing value failed")],
    [false, kubeError(422, "Invalid", 'A "a" is invalid: status.size: Invalid value')],
    [false, kubeError(500, "InternalError", "no")],
    [false, new TypeError("x")],
  ];
  for (const [expected, error] of cases) {
    await t.step(String(error), () => assert.equal(isStalePatch(error), expected));
  }
});

Deno.test("reasonOf() leaves out what we tried", () => {
  assert.equal(reasonOf(kubeError(403, "Forbidden", "no: never")), "no: never");
  assert.equal(reasonOf("text"), "text");
});

Deno.test("shownReason() is one line of bounded length", () => {
  assert.equal(shownReason(new Error("Cannot apply A: too\n\u001b[31m big ")), "too [31m big");
  const long = shownReason(new Error("x".repeat(10_000)));
  assert.equal(long.length, 400);
  assert.ok(long.endsWith("…"));
});
