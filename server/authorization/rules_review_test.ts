import assert from "node:assert/strict";
import { KubeError } from "../../common/kube/kube_error.ts";
import { catalogRights } from "./catalog_rights.ts";
import { ReviewPace } from "./review_pace.ts";
import { impersonating, RulesReviews } from "./rules_review.ts";

type Headers = Readonly<Record<string, string | string[]>>;

const login = (user: string, ...groups: string[]) => ({
  user: `xbind:${user}`,
  groups: [...groups, "xbind:authenticated"],
});
const account = (namespace: string, name: string, ...more: string[]) => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: [
    "system:serviceaccounts",
    `system:serviceaccounts:${namespace}`,
    "system:authenticated",
    ...more,
  ],
});

Deno.test("impersonating() makes exactly the user, or nobody", async (t) => {
  const bytes = (text: string) => new TextDecoder("latin1").decode(new TextEncoder().encode(text));
  const cases: [string, { user: string; groups: string[] }, string[] | undefined][] = [
    [
      "a login does not become a user of the cluster",
      login("ada", "xbind:a"),
      ["xbind:ada", "xbind:a", "xbind:authenticated", "system:unauthenticated"],
    ],
    [
      "a user of the cluster stays one",
      { user: "kim", groups: ["dev", "system:authenticated"] },
      ["kim", "dev", "system:authenticated"],
    ],
    ["an account has its groups", account("a", "b"), ["system:serviceaccount:a:b"]],
    ["an account with other groups", account("a", "b", "more"), undefined],
    ["a node", { user: "system:node:a", groups: ["system:authenticated"] }, undefined],
    ["a member of system:masters", { user: "root", groups: ["system:masters"] }, undefined],
    [
      "a name that is not ASCII goes as UTF-8",
      login("ädä"),
      [bytes("xbind:ädä"), "xbind:authenticated", "system:unauthenticated"],
    ],
    ["a line break", login("a\nb"), undefined],
    ["a blank at the end", login("ada "), undefined],
    ["a group with a control character", login("ada", "a\u0000"), undefined],
    ["a broken character", login("a\ud800"), undefined],
    ["too much text", login("ada", "x".repeat(33_000)), undefined],
    ["too many bytes", login("ada", "ä".repeat(17_000)), undefined],
  ];
  for (const [name, user, expected] of cases) {
    await t.step(name, () => {
      const headers = impersonating(user);
      const sent = headers && [headers["Impersonate-User"], headers["Impersonate-Group"]].flat();
      assert.deepEqual(sent, expected);
    });
  }
});

/** Makes reviews of a provider that refuses some users. */
function refusing(isRefused: (user: string) => boolean, status = 403) {
  const asked: string[] = [];
  const clock = { ms: 0 };
  const request = <T>(
    ...[, , , , headers = {}]: [string, string, unknown?, AbortSignal?, Headers?]
  ) => {
    const user = String(headers["Impersonate-User"]);
    asked.push(user);
    if (isRefused(user)) return Promise.reject(new KubeError("no", { status, reason: "Some" }));
    return Promise.resolve({ status: { resourceRules: [], incomplete: false } } as T);
  };
  const deps = { kube: { request }, pace: new ReviewPace(), monotonicMs: () => clock.ms };
  return { asked, clock, rules: new RulesReviews(deps, "xbind:") };
}

const NOTHING = catalogRights(new Set(), new Set());

Deno.test("RulesReviews takes one question for one user", async () => {
  const { rules, asked } = refusing(() => false);
  assert.deepEqual(await rules.rightsOf(login("ada")), NOTHING);
  assert.deepEqual(asked, ["xbind:ada"]);
});

Deno.test("RulesReviews remembers a refusal for a minute, and only of the user", async () => {
  const { rules, asked, clock } = refusing((user) => user === "xbind:eve");
  assert.equal(await rules.rightsOf(login("eve")), undefined);
  assert.deepEqual(await rules.rightsOf(login("ada")), NOTHING);
  assert.equal(await rules.rightsOf(login("eve")), undefined);
  assert.deepEqual(asked, ["xbind:eve", "xbind:nobody", "xbind:ada"]);
  clock.ms = 60_000;
  await rules.rightsOf(login("eve"));
  assert.equal(asked.filter((user) => user === "xbind:eve").length, 2);
});

Deno.test("RulesReviews asks about nobody for a minute if the provider refuses everybody", async () => {
  const { rules, asked, clock } = refusing(() => true, 404);
  const names = ["ada", "bob", "eve"];
  for (const name of names) assert.equal(await rules.rightsOf(login(name)), undefined);
  assert.deepEqual(asked, ["xbind:ada", "xbind:nobody"]);
  clock.ms = 60_000;
  await rules.rightsOf(login("bob"));
  assert.equal(asked.length, 4);
});

Deno.test("RulesReviews passes a failure on, and remembers none", async () => {
  const { rules, asked } = refusing(() => true, 500);
  for (let i = 0; i < 2; i++) {
    await assert.rejects(rules.rightsOf(login("ada")), /refused the review/);
  }
  assert.equal(asked.length, 2);
});
