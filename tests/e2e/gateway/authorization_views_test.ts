import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import { type Grant, GRANTS, LEASES } from "../../../common/api/resources.ts";
import { summaryText } from "../../../common/api/sync_summary.ts";
import type { Catalog, Clusters, Instances, Me } from "../../../common/api/wire.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import {
  type AskingGateway,
  AuthorizationWorld,
  GATEWAY_RIGHTS,
  userName,
} from "../../support/worlds/authorization_world.ts";
import { failure } from "../../support/worlds/gateway_world.ts";
import { synced } from "../../support/worlds/inventory_world.ts";
import { LoginGateway } from "../../support/worlds/login_gateway.ts";

const world = await AuthorizationWorld.start();
const { provider, sessions } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

Deno.test("callers without the right to list Grants see their own inventory only", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--kubernetes-auth"]);
  const ada = await sessions.seal("ada", ["team-a"]);
  const bob = await sessions.seal("bob");
  const cleo = await sessions.seal("cleo", ["team-a"]);
  const eve = await sessions.seal("eve");
  const grants: Record<string, Grant> = {};
  const makeWidget = (name: string, namespace: string, marks: ReturnType<typeof synced>) =>
    provider.kube.create(customType(WIDGETS), {
      apiVersion: "example.org/v1",
      kind: customType(WIDGETS).kind,
      metadata: { ...marks, name, namespace },
    }, FIELD_MANAGERS.cli);
  for (const [who, token] of Object.entries({ ada, bob, cleo })) {
    await gateway.bind(token, "widgets");
    const name = grantName("widgets", sealedSubject(who));
    const grant = await provider.edit(GRANTS, { name }, {
      spec: { identity: { displayName: `${who}@example.org` } },
    });
    grants[who] = grant;
    const { metadata: lease } = await provider.beat(grant, { consumerUid: `uid-of-${who}` });
    const problem = { api: WIDGETS, name: `broken-of-${who}`, reason: "Rejected", message: "" };
    const totals = { objects: 1, conflicts: 0, rejected: 1 };
    const summary = summaryText({ ...totals, problems: [problem] });
    await provider.edit(LEASES, lease, {
      metadata: {
        annotations: {
          [ANNOTATIONS.syncSummary]: summary,
          [ANNOTATIONS.clusterName]: `cluster-of-${who}`,
        },
      },
    });
    await makeWidget(`of-${who}`, boundaryOf(who), synced(`uid-of-${who}`, name));
  }
  const listed = (token: string) =>
    gateway.read<Instances>(token, "/api/catalog/widgets/instances");
  const rows = async (token: string) => (await listed(token)).instances.map(({ name }) => name);
  const problems = async (token: string) => (await listed(token)).problems?.map(({ name }) => name);
  const clustersOf = async (token: string) =>
    (await gateway.read<Clusters>(token, "/api/clusters")).clusters;
  const uids = async (token: string) => (await clustersOf(token)).map(({ uid }) => uid);

  await t.step("who may list Grants sees all", async () => {
    await eventually("all are shown", async () => (await rows(bob)).length === 3);
    await eventually("all clusters are shown", async () => (await uids(bob)).length === 3);
    await eventually("all problems are shown", async () => {
      assert.deepEqual(await problems(bob), ["broken-of-ada", "broken-of-bob", "broken-of-cleo"]);
      return true;
    });
  });
  await t.step("others see their own", async () => {
    assert.deepEqual(await rows(ada), ["of-ada"]);
    assert.deepEqual(await problems(ada), ["broken-of-ada"]);
    assert.deepEqual(await uids(ada), ["uid-of-ada"]);
    const [row] = (await listed(ada)).instances;
    assert.deepEqual([row?.identity, row?.clusterName], ["ada@example.org", "cluster-of-ada"]);
    const clusters = await clustersOf(ada);
    const subjects = clusters.flatMap(({ bindings }) => bindings.map((b) => b.subject));
    assert.deepEqual(new Set(subjects), new Set([sealedSubject("ada")]));
    assert.ok(!JSON.stringify(clusters).includes(sealedSubject("bob")));
  });
  await t.step("a stranger sees nothing", async () => {
    assert.deepEqual(await gateway.read(eve, "/api/clusters"), { clusters: [] });
    await failure(await gateway.as(eve, "/api/catalog/widgets/instances"), 404);
  });

  const [ofAda, ofCleo] = [grants.ada ?? assert.fail(), grants.cleo ?? assert.fail()];
  await makeWidget("leftover-of-cleo", "default", synced("uid-of-cleo"));
  await makeWidget("renamed-of-cleo", "default", synced("uid-of-cleo", "a-gone-grant"));
  const shows = (token: string, name: string) =>
    eventually(`${name} is shown`, async () => (await rows(token)).includes(name));
  await t.step(
    "an object of one's own with the UID of another's cluster shows no name",
    async () => {
      await makeWidget("forged", boundaryOf("ada"), synced("uid-of-cleo", ofAda.metadata.name));
      await shows(ada, "forged");
      assert.doesNotMatch(JSON.stringify(await listed(ada)), /cleo@example|cluster-of-cleo/);
      await shows(bob, "leftover-of-cleo");
      await shows(bob, "renamed-of-cleo");
      assert.deepEqual(await rows(ada), ["forged", "of-ada"]);
    },
  );
  await t.step("a Lease with the UID of another's cluster shows none of its objects", async () => {
    await provider.beat(ofAda, { consumerUid: "uid-of-cleo" });
    const claimed = await eventually(
      "the claim is shown",
      async () => (await clustersOf(ada)).find(({ uid }) => uid === "uid-of-cleo"),
    );
    assert.deepEqual(claimed.bindings.map(({ grant }) => grant), [ofAda.metadata.name]);
    assert.deepEqual(claimed.bindings[0]?.apis, [{ name: WIDGETS, syncedCount: 1 }]);
    assert.deepEqual(await rows(ada), ["forged", "of-ada"]);
    assert.doesNotMatch(JSON.stringify(await listed(ada)), /cleo@example|cluster-of-cleo/);
  });
  await t.step("nobody plants an object in another's view", async () => {
    await makeWidget("planted", boundaryOf("ada"), synced("uid-of-cleo", ofCleo.metadata.name));
    await shows(bob, "planted");
    assert.deepEqual(await rows(cleo), ["of-cleo"]);
    const [cluster] = await clustersOf(cleo);
    assert.deepEqual(cluster?.bindings[0]?.apis, [{ name: WIDGETS, syncedCount: 1 }]);
  });
  await t.step("an ETag of one caller does not hide the answer from another", async () => {
    for (const path of ["/api/clusters", "/api/catalog", "/api/catalog/widgets/instances"]) {
      const first = await gateway.as(ada, path);
      await first.body?.cancel();
      const headers = { "If-None-Match": first.headers.get("ETag") ?? assert.fail(path) };
      const again = await gateway.as(ada, path, { headers });
      assert.equal(again.status, 304, path);
      const other = await gateway.as(bob, path, { headers });
      assert.equal(other.status, 200, path);
      await other.body?.cancel();
    }
  });
});

const boundaryOf = (who: string) => boundaryName(sealedSubject(who));

Deno.test("hostile claims reach no identity of Kubernetes", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--kubernetes-auth"]);
  await world.allow("real-admin", ["get", "bind"], [], "--user=system:admin");
  await world.allow("real-group", ["get", "bind"], [], "--group=cluster-admins");
  await world.allow("real-users", ["get", "bind"], ["vault"], "--group=system:authenticated");
  const HOSTILE: [who: string, groups: string[]][] = [
    ["mallory", ["system:masters"]],
    ["mallory", ["system:authenticated", "system:serviceaccounts", "cluster-admins"]],
    ["mallory", ["xbind:team-a", "masters", ":masters", "System:Masters"]],
    ["system:admin", []],
    ["mallory\nImpersonate-User: system:admin", ["a\r\nImpersonate-Group: system:masters"]],
    ["mallory ", [" system:masters", "team-a "]],
    ["mällory\u0000", ["gruppe-ä", "x".repeat(300)]],
  ];
  for (const [who, groups] of HOSTILE) {
    await t.step(JSON.stringify([who, groups]), async () => {
      const token = await sessions.seal(who, groups);
      const { kubernetes } = await gateway.read<Me>(token, "/api/me");
      assert.match(kubernetes?.user ?? "", /^xbind:https:/);
      assert.ok(kubernetes?.groups.every((group) => group.startsWith("xbind:")));
      assert.deepEqual((await gateway.read<Catalog>(token, "/api/catalog")).exports, []);
      await failure(await gateway.tryBind(token, "vault"), 404);
      assert.deepEqual(await gateway.read(token, "/api/clusters"), { clusters: [] });
    });
  }
  for (const name of ["real-admin", "real-group", "real-users"]) await world.forbid(name);
});

Deno.test("what users of the cluster get at this moment, callers do not", async () => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  const names = async (who: string) => {
    const { exports } = await gateway.read<Catalog>(await sessions.seal(who), "/api/catalog");
    return exports.map(({ name }) => name);
  };
  const mayGet = () => world.canI("second", [], "get", "exports.catalog.xbind.io/vault");
  await eventually("earlier rights are taken back", async () => !await mayGet());
  assert.deepEqual(await names("first"), []);
  await world.allow("real-users", ["get", "bind"], ["vault"], "--group=system:authenticated");
  await eventually("the API server knows", mayGet);
  assert.deepEqual(await names("second"), []);
  await world.forbid("real-users");
});

Deno.test("a login with a groups claim has the rights of its groups", async () => {
  await using idp = await IdentityProvider.start();
  idp.account = { sub: "ida", groups: ["team-a", "system:masters"] };
  await using gateway = await LoginGateway.start(idp, {
    plane: world.plane,
    flags: ["--authorization=Kubernetes", "--oidc-groups-claim=groups"],
  });
  const browser = gateway.browser();
  assert.equal((await browser.logIn()).status, 302);
  const read = async <T>(path: string): Promise<T> => JSON.parse((await browser.get(path)).text);
  assert.deepEqual((await read<Me>("/api/me")).kubernetes, {
    user: `xbind:${idp.issuer}#ida`,
    groups: ["xbind:team-a", "xbind:system:masters", "xbind:authenticated"],
  });
  const { exports } = await read<Catalog>("/api/catalog");
  const shown = exports.map(({ name, bindable = true }) => [name, bindable]);
  assert.deepEqual(shown, [["gadgets", false], ["widgets", true]]);
});

Deno.test("a provider that does not answer opens nothing, and a cached answer ends", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  const [bob, eve] = [await sessions.seal("bob"), await sessions.seal("eve")];
  const statusOf = async (token: string, path: string) => {
    const answer = await gateway.as(token, path);
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await statusOf(bob, "/api/catalog"), 200);
  assert.equal(await statusOf(bob, "/api/clusters"), 200);
  await world.plane.apiServer.kill();
  await t.step("who was not asked about is refused", async () => {
    for (const path of ["/api/catalog", "/api/clusters", "/api/catalog/widgets/instances"]) {
      assert.equal(await statusOf(eve, path), 503, path);
    }
  });
  await t.step("who was allowed is refused when the answer is too old", async () => {
    for (const path of ["/api/catalog", "/api/clusters"]) {
      await eventually(path, async () => await statusOf(bob, path) === 503, {
        timeoutMs: 10_000,
      });
    }
  });
  await world.plane.apiServer.start();
  await world.plane.ready();
  await t.step("both get their answers again", async () => {
    await eventually("bob sees", async () => await statusOf(bob, "/api/catalog") === 200);
    await eventually("eve sees nothing", async () => {
      return (await gateway.read<Catalog>(eve, "/api/catalog")).exports.length === 0;
    });
  });
});

// Last, because it fills the catalog.
Deno.test("a long catalog is asked about in bulk or not at all", async (t) => {
  const names = Array.from({ length: 100 }, (_, i) => `service-${i}`);
  await Promise.all(names.map((name) => provider.offer(name, [WIDGETS])));
  await world.allow("hal", ["get"], [], `--user=${userName("hal")}`);
  await world.allow("hal-binds", ["bind"], ["widgets"], `--user=${userName("hal")}`);
  const [ada, bob, hal] = [
    await sessions.seal("ada", ["team-a"]),
    await sessions.seal("bob"),
    await sessions.seal("hal"),
  ];
  const inBulk = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--kubernetes-auth"]);
  const catalogOf = (gateway: AskingGateway, token: string) =>
    gateway.read<Catalog>(token, "/api/catalog");
  await eventually("all Exports are shown", async () => {
    return (await catalogOf(inBulk, bob)).exports.length === 103;
  });
  await t.step("in bulk, everybody sees what RBAC says", async () => {
    const { exports } = await catalogOf(inBulk, ada);
    assert.deepEqual(exports.map(({ name }) => name), ["gadgets", "widgets"]);
    const locked = (await catalogOf(inBulk, hal)).exports.filter((each) => each.bindable === false);
    assert.equal(locked.length, 102);
  });
  await t.step("so do accounts, and callers whose names are not ASCII", async () => {
    await world.allow("jörg", ["get"], ["vault"], `--user=${userName("jörg")}`);
    await eventually("RBAC allows it", () => {
      return world.canI("jörg", [], "get", "exports.catalog.xbind.io/vault");
    });
    const [joerg, robot] = [await sessions.seal("jörg"), await world.robot()];
    for (const [token, name] of [[joerg, "vault"], [robot, "gadgets"]] as const) {
      const { exports } = await catalogOf(inBulk, token);
      assert.deepEqual(exports.map((each) => each.name), [name]);
    }
  });
  const byName = await world.gateway(GATEWAY_RIGHTS.BY_NAME);
  await t.step("otherwise, rights to all still take two reviews", async () => {
    await eventually("all Exports are shown", async () => {
      return (await catalogOf(byName, bob)).exports.length === 103;
    });
    const { exports, bindableUnknown } = await catalogOf(byName, hal);
    assert.ok(exports.every(({ bindable }) => bindable === undefined));
    assert.ok(bindableUnknown);
    await failure(await byName.tryBind(hal, "gadgets"), 403);
    const accepted = (await world.reviews(byName.account))
      .filter(({ responseStatus }) => responseStatus?.code === 201);
    assert.ok(accepted.length <= 8, String(accepted.length));
  });
  await t.step("rights to some are refused with a reason", async () => {
    await failure(await byName.as(ada, "/api/catalog"), 503, /over 100 Exports/);
    assert.equal((await byName.tryBind(ada, "widgets")).status, 200);
  });
});
