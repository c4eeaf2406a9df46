import assert from "node:assert/strict";
import {
  errorFromAnswer,
  isConflict,
  isExpired,
  isNotFound,
  isServerFailure,
  KubeError,
} from "./kube_error.ts";

const status = (reason: string, message = "m") =>
  JSON.stringify({ kind: "Status", reason, message });

Deno.test("errorFromAnswer() uses", async (t) => {
  await t.step("the reason and message of a Status", () => {
    const error = errorFromAnswer("Cannot get x", 409, status("AlreadyExists", "it is there"));
    assert.equal(error.reason, "AlreadyExists");
    assert.equal(error.message, "Cannot get x: it is there");
    assert.equal(error.code, "PROVIDER_FAILED");
    assert.equal(isConflict(error), false);
  });
  await t.step("only the status of anything else", () => {
    const error = errorFromAnswer("Cannot get x", 502, "<html>secret proxy page</html>");
    assert.equal(error.reason, "Unknown");
    assert.equal(error.message, "Cannot get x: the server answered 502");
  });
  await t.step("a reason by status when the server gave none", () => {
    assert.ok(isNotFound(errorFromAnswer("a", 404, "")));
    assert.ok(isExpired(errorFromAnswer("a", 410, "")));
    assert.ok(isExpired(errorFromAnswer("a", 410, status("Expired"))));
  });
  await t.step("at most 1,000 characters of a message", () => {
    const error = errorFromAnswer("a", 500, status("InternalError", "x".repeat(5000)));
    assert.ok(error.message.length < 1100);
  });
});

Deno.test("isServerFailure() distinguishes server failures and refusals", () => {
  const noAnswer = (reason: string) => new KubeError("Cannot get x", { status: 0, reason });
  for (const reason of ["ConnectionFailed", "ConnectionLost", "DeadlineExceeded"]) {
    assert.ok(isServerFailure(noAnswer(reason)), reason);
  }
  for (const code of [500, 502, 503, 504]) {
    assert.ok(isServerFailure(errorFromAnswer("a", code, "")));
  }
  for (const code of [400, 401, 403, 404, 409, 410, 422, 429]) {
    assert.ok(!isServerFailure(errorFromAnswer("a", code, "")), String(code));
  }
  assert.ok(!isServerFailure(new Error("a bug")));
});
