import assert from "node:assert/strict";
import type { LogLine } from "../../support/programs/daemon.ts";
import { type Account, IdentityProvider } from "../../support/peers/identity_provider.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

interface Me {
  /** The part after `<issuer>#`. */
  readonly user: string;
  readonly displayName?: string;
  readonly groups?: readonly string[];
}

interface Refusal {
  readonly refused: RegExp;
}

type Case = readonly [name: string, account: Account, expected: Me | Refusal];

/** Logs every account in at a gateway with these flags, and returns the gateway's warnings. */
async function logInAll(
  t: Deno.TestContext,
  flags: readonly string[],
  cases: readonly Case[],
): Promise<LogLine[]> {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp, { flags });
  for (const [name, account, expected] of cases) {
    await t.step(name, async () => {
      idp.account = account;
      if ("refused" in expected) {
        const browser = gateway.browser();
        return await assertRefused(browser, await browser.logIn(), 401, expected.refused);
      }
      const { user, ...rest } = expected;
      assert.deepEqual(await gateway.identityAfterLogin(), {
        subject: `${idp.issuer}#${user}`,
        ...rest,
      });
    });
  }
  return gateway.backend.log.filter(({ level }) => level === "warn");
}

Deno.test("--oidc-username-claim is sub by default, and --oidc-groups-claim adds groups", async (t) => {
  const ada = { user: "ada", displayName: "ada" };
  const warnings = await logInAll(t, ["--oidc-groups-claim=groups"], [
    [
      "groups as an array",
      { sub: "ada", email: "ada@example.org", groups: ["dev", "ops"] },
      { user: "ada", displayName: "ada@example.org", groups: ["dev", "ops"] },
    ],
    [
      "groups as a string",
      { sub: "bob", name: "Bob", groups: "dev,ops" },
      { user: "bob", displayName: "Bob", groups: ["dev,ops"] },
    ],
    ["no groups", { sub: "ada" }, { user: "ada", displayName: "ada" }],
    ["an empty string", { sub: "ada", groups: "" }, { user: "ada", displayName: "ada" }],
    ["an empty array", { sub: "ada", groups: [] }, { user: "ada", displayName: "ada" }],
    [
      "too many groups for a cookie, which are left out",
      { sub: "ada", groups: Array.from({ length: 1_000 }, (_, n) => `group-${n}`) },
      { user: "ada", displayName: "ada" },
    ],
    [
      "a display name too long for a cookie, which is left out",
      { sub: "ada", name: "a".repeat(10_000) },
      { user: "ada" },
    ],
    ["a user name too long for a cookie", { sub: "a".repeat(10_000) }, { refused: /too long/ }],
    ["a number, which is left out", { sub: "ada", groups: 7 }, ada],
    ["an object, which is left out", { sub: "ada", groups: [{ name: "dev" }] }, ada],
    [
      "an empty group and a lone surrogate, which are left out",
      { sub: "ada", groups: ["dev", "", "\ud800"] },
      { ...ada, groups: ["dev"] },
    ],
    [
      "a name that is not plain ASCII",
      { sub: "Ünïcödé#1 %2F/../ 🦕" },
      { user: "Ünïcödé#1 %2F/../ 🦕", displayName: "Ünïcödé#1 %2F/../ 🦕" },
    ],
    [
      "an unverified email, which is only the display name",
      { sub: "eve", email: "ada@example.org", email_verified: false },
      { user: "eve", displayName: "ada@example.org" },
    ],
  ]);
  const told = warnings.filter(({ msg }) => /names groups/.test(msg));
  assert.deepEqual(told.map(({ claim }) => claim), ["groups"], "one warning names the claim");
});

Deno.test("--oidc-username-claim=email uses the email unless it is unverified", async (t) => {
  const email = "ada@example.org";
  const ada = { user: email, displayName: email };
  await logInAll(t, ["--oidc-username-claim=email"], [
    ["verified", { sub: "1", email, email_verified: true }, ada],
    ["no email_verified", { sub: "1", email }, ada],
    [
      "not verified",
      { sub: "1", email, email_verified: false },
      { refused: /has not verified the email address/ },
    ],
    ["missing", { sub: "1" }, { refused: /claim "email" is not a nonempty string/ }],
    [
      "groups without the flag",
      { sub: "1", email, groups: ["dev"] },
      ada,
    ],
  ]);
});

Deno.test("--oidc-username-claim accepts any claim that is a nonempty string", async (t) => {
  const refused = { refused: /claim "employee" is not a nonempty string/ };
  await logInAll(t, ["--oidc-username-claim=employee"], [
    [
      "a string",
      { sub: "1", employee: "E-42", name: "Ada" },
      { user: "E-42", displayName: "Ada" },
    ],
    ["missing", { sub: "1" }, refused],
    ["empty", { sub: "1", employee: "" }, refused],
    ["a number", { sub: "1", employee: 42 }, refused],
    ["an array", { sub: "1", employee: ["E-42"] }, refused],
    ["null", { sub: "1", employee: null }, refused],
  ]);
});

Deno.test("--oidc-issuer-url starts the subject unchanged", async () => {
  await using idp = await IdentityProvider.start();
  const { caPem, caFile } = idp;
  const given = idp.issuer.replace("https", "HTTPS");
  await using gateway = await LoginGateway.start({ issuer: given, caPem, caFile });
  assert.deepEqual(await gateway.identityAfterLogin(), {
    subject: `${given}#ada`,
    displayName: "ada",
  });
});
