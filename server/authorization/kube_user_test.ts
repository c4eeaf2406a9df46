import assert from "node:assert/strict";
import { kubeUserOf, TOKEN_DETAILS, userKey } from "./kube_user.ts";

const PREFIXES = { authorizationUserPrefix: "xbind:", authorizationGroupPrefix: "xbind:" };

Deno.test("kubeUserOf() prefixes the names of a login", () => {
  assert.deepEqual(kubeUserOf(PREFIXES, { subject: "https://idp#ada", groups: ["a", "b", "a"] }), {
    user: "xbind:https://idp#ada",
    groups: ["xbind:a", "xbind:b", "xbind:authenticated"],
  });
  assert.deepEqual(kubeUserOf(PREFIXES, { subject: "https://idp#ada" }).groups, [
    "xbind:authenticated",
  ]);
});

Deno.test("kubeUserOf() keeps the names of a provider token", () => {
  const groups = ["system:authenticated", "system:serviceaccounts"];
  const identity = { subject: "kubernetes#system:serviceaccount:a:b", groups };
  assert.deepEqual(kubeUserOf(PREFIXES, identity), {
    user: "system:serviceaccount:a:b",
    groups,
  });
});

Deno.test("kubeUserOf() keeps further details of a token review, for provider tokens only", () => {
  const details = { uid: "u-1", extra: { "example.org/tier": ["gold"] } };
  const identity = { subject: "kubernetes#ada", groups: ["a"], [TOKEN_DETAILS]: details };
  const user = kubeUserOf(PREFIXES, identity);
  assert.deepEqual(user, { user: "ada", groups: ["a"], ...details });
  assert.notEqual(userKey(user), userKey({ user: "ada", groups: ["a"] }));
  const login = kubeUserOf(PREFIXES, { ...identity, subject: "https://idp#ada" });
  assert.ok(!("uid" in login) && !("extra" in login));
});

Deno.test("kubeUserOf() turns no claim into a name that Kubernetes reserves", async (t) => {
  const CLAIMS = [
    "system:masters",
    "kubernetes#admin",
    "masters",
    ":masters",
    "",
    "stem:masters",
    ":cluster-admins",
  ];
  for (const prefix of ["xbind:", "sy", "system:", "", "kubernetes#", "kubeadm"]) {
    await t.step(JSON.stringify(prefix), () => {
      const prefixes = { authorizationUserPrefix: "xbind:", authorizationGroupPrefix: prefix };
      for (const claim of CLAIMS) {
        const subject = `https://idp#${claim}`;
        const { user, groups } = kubeUserOf(prefixes, { subject, groups: CLAIMS });
        assert.match(user, /^xbind:https:\/\/idp#/);
        assert.deepEqual(groups.filter((group) => /^(?:system|kubeadm):/i.test(group)), []);
      }
    });
  }
});
