import assert from "node:assert/strict";
import type { ClusterRole, ClusterRoleBinding } from "../../../common/api/resources.ts";
import { parseConfig } from "../../../server/config.ts";
import {
  containerOf,
  ofKind,
  refusal,
  render,
  rulesOf,
  type Values,
} from "../../support/worlds/chart.ts";

const RBAC_DECIDES = { "authorization.mode": "Kubernetes", "oidc.mock.enabled": true };
const GATEWAY_ONLY = { ...RBAC_DECIDES, "issuer.enabled": false };
const ISSUER_ONLY = { ...RBAC_DECIDES, "gateway.enabled": false };
const AGGREGATION = "rbac.authorization.k8s.io/aggregate-to-";

const rolesOf = async (values: Values) => ofKind<ClusterRole>(await render(values), "ClusterRole");

Deno.test("the chart's sample roles are part of the roles of Kubernetes", async () => {
  const parts = (await rolesOf(RBAC_DECIDES)).flatMap(({ metadata: { name, labels = {} } }) => {
    const into = Object.keys(labels).filter((label) => label.startsWith(AGGREGATION));
    return into.length === 0
      ? []
      : [[name, into.map((label) => label.slice(AGGREGATION.length)).sort()]];
  });
  assert.deepEqual(Object.fromEntries(parts), {
    "xbind-binder": ["admin", "edit"],
    "xbind-catalog-viewer": ["admin", "edit", "view"],
    "xbind-inventory-viewer": ["admin"],
  });
});

Deno.test("a gateway and an issuer in two releases have no ClusterRole in common", async () => {
  const namesOf = async (values: Values) =>
    (await rolesOf({ ...values, installCrds: false })).map(({ metadata }) => metadata.name);
  const named = { fullnameOverride: "issuer" };
  const [first, second] = [
    await namesOf(GATEWAY_ONLY),
    await namesOf({ ...ISSUER_ONLY, ...named }),
  ];
  assert.ok(first.includes("xbind-binder"));
  assert.deepEqual(first.filter((name) => second.includes(name)), []);
});

Deno.test("an issuer that revokes by RBAC gets the pace and the brake, without a reaper too", async () => {
  const brake = {
    "reaper.interval": "7m",
    "reaper.holdPercent": 33,
    "reaper.maxPercent": 3,
    "authorization.revoke": true,
  };
  const configOf = async (values: Values) => {
    const invocation = parseConfig(containerOf(await render(values)).args, {});
    assert.ok(invocation.kind === "run");
    return invocation.config;
  };
  for (const values of [ISSUER_ONLY, RBAC_DECIDES]) {
    const config = await configOf({ ...values, ...brake });
    assert.equal(config.enableReaper, false);
    assert.deepEqual(
      [config.reaperIntervalMs, config.reaperHoldPercent, config.reaperMaxPercent],
      [7 * 60_000, 33, 3],
    );
  }
});

Deno.test("a prefix that leads to names of Kubernetes fails before anything is installed", async (t) => {
  const wrong: [string, RegExp][] = [
    ["system:", /leads to names of Kubernetes/],
    ["kubeadm:", /leads to names of Kubernetes/],
    ["System:serviceaccount:", /leads to names of Kubernetes/],
    ["kubeadm", /don't meet the specifications of the schema/],
    ["sys", /don't meet the specifications of the schema/],
  ];
  for (const value of ["userPrefix", "groupPrefix"]) {
    for (const [prefix, reason] of wrong) {
      await t.step(`${value}: ${prefix}`, async () => {
        const values = { ...RBAC_DECIDES, [`authorization.${value}`]: prefix };
        assert.match(await refusal(values), reason);
      });
    }
  }
});

Deno.test("the chart lets callers be asked about in bulk only while that is wanted", async () => {
  const impersonates = async (values: Values) =>
    (rulesOf(await render(values)).get("gateway") ?? []).flatMap(({ verbs }) => verbs)
      .filter((verb) => verb.startsWith("impersonate")).sort();
  const callersOf = async (values: Values) =>
    ofKind<ClusterRoleBinding>(await render(values), "ClusterRoleBinding")
      .filter(({ metadata }) => metadata.name.endsWith("-callers"))
      .flatMap(({ subjects = [] }) => subjects.map(({ kind, name }) => `${kind} ${name}`));
  const users = ["impersonate-on:user-info:create", "impersonate:user-info"];
  const accounts = ["impersonate-on:serviceaccount:create", "impersonate:serviceaccount"];
  assert.deepEqual(await impersonates(RBAC_DECIDES), users);
  assert.deepEqual(
    await impersonates({ ...RBAC_DECIDES, kubernetesAuth: true }),
    [...users, ...accounts].sort(),
  );
  assert.deepEqual(await callersOf(RBAC_DECIDES), ["Group xbind:authenticated"]);
  const without = [
    { ...RBAC_DECIDES, "authorization.bulkReviews": false },
    { "oidc.mock.enabled": true },
    ISSUER_ONLY,
  ];
  for (const values of without) {
    assert.deepEqual(await impersonates(values), []);
    assert.deepEqual(await callersOf(values), []);
  }
});
