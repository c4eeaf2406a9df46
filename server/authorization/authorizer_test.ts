import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { Authorizer } from "./authorizer.ts";

const PREFIXES = { authorizationUserPrefix: "xbind:", authorizationGroupPrefix: "xbind:" };
const ADA = { subject: "https://idp#ada" };
const hasCode = (code: string) => (error: unknown) =>
  error instanceof XbindError && error.code === code;

interface Attributes {
  readonly verb: string;
  readonly name?: string;
}

/** Makes an authorizer whose provider answers in bulk, or else by name after `eachMs`. */
function asking(
  { mayAsk = true, allows = () => true, eachMs = 0 }: {
    mayAsk?: boolean;
    allows?: (attributes: Attributes) => boolean;
    eachMs?: number;
  },
) {
  const clock = { ms: 0 };
  const calls: number[] = [];
  const request = async <T>(_method: string, path: string, body?: unknown): Promise<T> => {
    calls.push(clock.ms);
    await Promise.resolve();
    clock.ms += eachMs;
    if (path.endsWith("selfsubjectrulesreviews")) {
      if (!mayAsk) throw new KubeError("no", { status: 403, reason: "Forbidden" });
      return { status: { resourceRules: [], incomplete: false } } as T;
    }
    const { resourceAttributes } = (body as { spec: { resourceAttributes: Attributes } }).spec;
    return { status: { allowed: allows(resourceAttributes) } } as T;
  };
  const deps = { kube: { request }, prefixes: PREFIXES, monotonicMs: () => clock.ms };
  return { clock, calls, authorizer: new Authorizer(deps) };
}

Deno.test("a caller who reads the catalog all the time takes at most 2 calls in any 10 s", async () => {
  const { authorizer, calls, clock } = asking({});
  for (; clock.ms < 60_000; clock.ms += 100) await authorizer.catalogRights(ADA, () => ["a"]);
  const most = Math.max(
    ...calls.map((from) => calls.filter((at) => at >= from && at < from + 10_000).length),
  );
  assert.ok(most <= 2, `${most} of ${calls.join(" ")}`);
  assert.ok(calls.length >= 6); // no answer is older than 9 s
});

Deno.test("a catalog by name that takes too long is refused", async () => {
  const allows = ({ name }: Attributes) => name !== undefined;
  const { authorizer } = asking({ mayAsk: false, allows, eachMs: 100 });
  const names = Array.from({ length: 50 }, (_, i) => `service-${i}`);
  await assert.rejects(authorizer.catalogRights(ADA, () => names), hasCode("UNAVAILABLE"));
});

Deno.test("a catalog by name of more than 100 Exports is refused", async () => {
  const { authorizer, calls } = asking({ mayAsk: false, allows: () => false });
  const names = Array.from({ length: 101 }, (_, i) => `service-${i}`);
  await assert.rejects(authorizer.catalogRights(ADA, () => names), /over 100 Exports/);
  assert.equal(calls.length, 4); // bulk, bulk as nobody, get, bind
});

Deno.test("a user who may bind but not see an Export cannot bind it", async () => {
  const { authorizer } = asking({ allows: ({ verb }) => verb === "bind" });
  await assert.rejects(authorizer.checkBind(ADA, "a"), hasCode("EXPORT_NOT_FOUND"));
  await assert.rejects(authorizer.checkSee(ADA, "a"), hasCode("EXPORT_NOT_FOUND"));
  await assert.rejects(authorizer.checkPickup(ADA, "a"), /lacks the verb "get"/);
});

Deno.test("a user who may not bind an Export is told so, unless the Export is hidden", async () => {
  const seen = asking({ allows: ({ verb }) => verb === "get" });
  await assert.rejects(seen.authorizer.checkBind(ADA, "a"), hasCode("FORBIDDEN"));
  const hidden = asking({ allows: () => false });
  await assert.rejects(hidden.authorizer.checkBind(ADA, "a"), hasCode("EXPORT_NOT_FOUND"));
  await assert.rejects(hidden.authorizer.checkPickup(ADA, "a"), hasCode("FORBIDDEN"));
});
