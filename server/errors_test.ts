import assert from "node:assert/strict";
import { type ErrorCode, providerFailed, XbindError } from "../common/errors.ts";
import {
  applyFailed,
  exportNotFound,
  exportNotReady,
  forbidden,
  grantNotReady,
  invalidRequest,
  kubeconfigRejected,
  pickupGone,
  tooLarge,
  tooManyRequests,
  unauthenticated,
  unavailable,
} from "./errors.ts";

const cause = new Error("connection refused");

const cases: readonly [XbindError, ErrorCode, string, number?][] = [
  [invalidRequest("export is missing"), "INVALID_REQUEST", "export is missing"],
  [
    kubeconfigRejected("exec is not allowed"),
    "KUBECONFIG_REJECTED",
    "Cannot use the submitted kubeconfig: exec is not allowed",
  ],
  [unauthenticated("sign in first"), "UNAUTHENTICATED", "Cannot authenticate: sign in first"],
  [forbidden("cross-site"), "FORBIDDEN", "cross-site"],
  [exportNotFound("pg"), "EXPORT_NOT_FOUND", 'Cannot find Export "pg"'],
  [exportNotReady("pg"), "EXPORT_NOT_READY", 'Cannot bind Export "pg": it is not Ready'],
  [
    pickupGone(),
    "PICKUP_GONE",
    "Cannot pick up the bundle: the URL is unknown, expired or already used; bind again",
  ],
  [
    grantNotReady("pg-1"),
    "GRANT_NOT_READY",
    'Cannot finish the bind: Grant "pg-1" did not become Ready in time; try again',
  ],
  [
    providerFailed("list Exports", "the API server is unreachable", cause),
    "PROVIDER_FAILED",
    "Cannot list Exports: the API server is unreachable",
  ],
  [
    applyFailed("apply Secret/pg", "the consumer refused it", cause),
    "APPLY_FAILED",
    "Cannot apply Secret/pg: the consumer refused it",
  ],
  [tooLarge(16384), "TOO_LARGE", "Cannot read the request: its body is over 16384 bytes"],
  [
    tooManyRequests(2),
    "TOO_MANY_REQUESTS",
    "Cannot serve the request: too many in a short time",
    2,
  ],
  [
    unavailable("bind", "the gateway is stopping", 5),
    "UNAVAILABLE",
    "Cannot bind: the gateway is stopping",
    5,
  ],
];

for (const [error, code, message, retryAfterSeconds] of cases) {
  Deno.test(`${code} carries its code, message and retry time`, () => {
    assert.ok(error instanceof XbindError);
    assert.equal(error.name, "XbindError");
    assert.equal(error.code, code);
    assert.equal(error.message, message);
    assert.equal(error.retryAfterSeconds, retryAfterSeconds);
  });
}

Deno.test("every code has a case above", () => {
  // With a Record, a new code without a line here does not compile.
  const all: Record<ErrorCode, true> = {
    INVALID_REQUEST: true,
    KUBECONFIG_REJECTED: true,
    UNAUTHENTICATED: true,
    FORBIDDEN: true,
    EXPORT_NOT_FOUND: true,
    PICKUP_GONE: true,
    TOO_LARGE: true,
    TOO_MANY_REQUESTS: true,
    EXPORT_NOT_READY: true,
    PROVIDER_FAILED: true,
    APPLY_FAILED: true,
    UNAVAILABLE: true,
    GRANT_NOT_READY: true,
  };
  assert.deepEqual(cases.map(([, code]) => code).sort(), Object.keys(all).sort());
});

Deno.test("providerFailed() keeps the original error as its cause", () => {
  assert.equal(providerFailed("list Exports", "no answer", cause).cause, cause);
});
