import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import { type HostAddress, pinnedLookup, type ResolveHost } from "./consumer_address.ts";

const DENIED = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "127.0.0.0/8", "::1/128"];
const never = new AbortController().signal;

const hosts = (table: Record<string, string[]>): ResolveHost => (host) => {
  const found = table[host];
  if (!found) return Promise.reject(new Error("ENOTFOUND"));
  return Promise.resolve(
    found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
  );
};

const code = (wanted: XbindError["code"]) => (error: unknown): boolean =>
  error instanceof XbindError && error.code === wanted;

Deno.test("pinnedLookup() refuses servers whose address is denied", async (t) => {
  for (
    const host of [
      "169.254.169.254",
      "169.254.169.254:443/latest",
      "0xa9fea9fe",
      "2852039166",
      "169.254.43518",
      "0251.0376.0251.0376",
      "１６９.254.169.254",
      "[::ffff:169.254.169.254]",
      "[::ffff:a9fe:a9fe]",
      "[0:0:0:0:0:ffff:a9fe:a9fe]",
      "[::169.254.169.254]",
      "[64:ff9b::a9fe:a9fe]",
      "[fe80::1]",
      "[febf::1]",
      "[fd00:ec2::254]",
      "[FD00:0EC2:0:0:0:0:0:254]",
      "127.0.0.1",
      "127.1",
      "0.0.0.0",
      "0",
      "[::]",
      "[::1]",
    ]
  ) {
    await t.step(host, async () => {
      const server = new URL(`https://${host}`).origin;
      await assert.rejects(pinnedLookup(server, DENIED, never), code("KUBECONFIG_REJECTED"));
    });
  }
});

Deno.test("pinnedLookup() refuses names with at least one denied address", async () => {
  const resolve = hosts({ "mixed.example": ["203.0.113.1", "169.254.169.254"] });
  await assert.rejects(
    pinnedLookup("https://mixed.example", DENIED, never, resolve),
    code("KUBECONFIG_REJECTED"),
  );
});

Deno.test("pinnedLookup() asks DNS once, and connections get that answer", async () => {
  let asked = 0;
  const resolve = (host: string) => {
    asked++;
    return hosts({ "good.example": [asked === 1 ? "203.0.113.7" : "169.254.169.254"] })(host);
  };
  const lookup = await pinnedLookup("https://good.example:6443/x", DENIED, never, resolve);
  const all = await new Promise<HostAddress[]>((done) =>
    lookup("good.example", { all: true }, (_, found) => done(found as HostAddress[]))
  );
  assert.deepEqual(all, [{ address: "203.0.113.7", family: 4 }]);
  const single = await new Promise((done) =>
    lookup("good.example", {}, (_, address, family) => done([address, family]))
  );
  assert.deepEqual(single, ["203.0.113.7", 4]);
  assert.equal(asked, 1);
});

Deno.test("pinnedLookup() allows all other addresses", async () => {
  for (const host of ["10.0.0.1", "169.253.1.1", "[2001:db8::1]", "[fd00:ec2::253]"]) {
    await pinnedLookup(`https://${host}`, DENIED, never);
  }
  await pinnedLookup("https://127.0.0.1", [], never);
});

Deno.test("pinnedLookup() reports an unknown host as APPLY_FAILED", async () => {
  for (const resolve of [hosts({}), hosts({ "x.example": [] })]) {
    await assert.rejects(
      pinnedLookup("https://x.example", DENIED, never, resolve),
      code("APPLY_FAILED"),
    );
  }
});

Deno.test("pinnedLookup() stops on abort while DNS does not answer", async () => {
  const stop = new AbortController();
  const waiting = pinnedLookup("https://x.example", [], stop.signal, () => new Promise(() => {}));
  stop.abort("gone");
  await assert.rejects(waiting, (error) => error === "gone");
});
