import assert from "node:assert/strict";
import type { Grant } from "../../common/api/resources.ts";
import { createLogger } from "../../common/log/log.ts";
import { sweepAuthorization } from "./authorization_sweep.ts";

const GRANTS = 40;

const grant = (i: number) =>
  ({
    apiVersion: "iam.xbind.io/v1alpha1",
    kind: "Grant",
    metadata: { name: `grant-${i}`, resourceVersion: "1" },
    spec: { identity: { subject: `https://idp#${i}` }, exportName: "widgets", apis: [] },
  }) as unknown as Grant;

type Deps = Parameters<typeof sweepAuthorization>[0];

Deno.test("sweepAuthorization() writes the conditions of a mass loss at a bounded pace", async () => {
  const grants = Array.from({ length: GRANTS }, (_, i) => grant(i));
  const writes: number[] = [];
  const kube = {
    applyStatus: () => Promise.resolve(void writes.push(performance.now())),
  } as unknown as Deps["kube"];
  const counts = await sweepAuthorization({
    kube,
    grants: { values: () => grants.values(), hasSynced: true, brokenForMs: () => undefined },
    authorizer: { mayBind: () => Promise.resolve(false) },
    config: { authorizationRevoke: true, reaperHoldPercent: 20, reaperMaxPercent: 10 },
    recordEvent: () => {},
    log: createLogger({
      encoder: "json",
      level: "error",
      stacktraceLevel: "panic",
      timeEncoding: "rfc3339",
    }),
  }, AbortSignal.timeout(30_000));
  assert.deepEqual(counts, { judged: GRANTS, lost: GRANTS, isHeld: true, failed: 0 });
  assert.equal(writes.length, GRANTS);
  const [first = 0, last = 0] = [writes[0], writes.at(-1)];
  assert.ok(last - first >= 1_000, `${GRANTS} writes in ${(last - first).toFixed(0)} ms`);
});
