import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import { type Grant, GRANTS, LEASES } from "../../../common/api/resources.ts";
import { summaryText } from "../../../common/api/sync_summary.ts";
import type { Catalog, Clusters, Instances, Me } from "../../../common/api/wire.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { sealedSubject } from "../../support/planes/sealed_sessions.ts";
import {
  type AskingGateway,
  AuthorizationWorld,
  GATEWAY_RIGHTS,
  userName,
} from "../../support/worlds/authorization_world.ts";
import { failure, postJson } from "../../support/worlds/gateway_world.ts";
import { synced } from "../../support/worlds/inventory_world.ts";

const world = await AuthorizationWorld.start();
const { provider, sessions } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** Every caller of the matrix: session or token of the provider, groups, and rights. */
const CALLERS = [
  { who: "ada", groups: ["team-a"], see: ["gadgets", "widgets"], bind: ["widgets"], all: false },
  { who: "bob", groups: [], see: ["gadgets", "vault", "widgets"], bind: "all", all: true },
  { who: "robot", groups: [], see: ["gadgets"], bind: ["gadgets"], all: false },
  { who: "eve", groups: ["team-b"], see: [], bind: [], all: false },
] as const;

const tokenOf = async ({ who, groups }: { who: string; groups: readonly string[] }) =>
  who === "robot" ? await world.robot() : await sessions.seal(who, groups);

const subjectOf = (who: string) =>
  who === "robot" ? "kubernetes#system:serviceaccount:robots:robot" : sealedSubject(who);

const mayBind = (bind: "all" | readonly string[], name: string) =>
  bind === "all" || bind.includes(name);

/** Checks all routes for all callers. */
async function checkMatrix(t: Deno.TestContext, gateway: AskingGateway): Promise<void> {
  for (const caller of CALLERS) {
    const token = await tokenOf(caller);
    const sees = (name: string) => (caller.see as readonly string[]).includes(name);
    const label = `${caller.who}:`;

    await t.step(`${label} /api/me names the user that RBAC knows`, async () => {
      const me = await gateway.read<Me>(token, "/api/me");
      assert.equal(me.subject, subjectOf(caller.who));
      if (caller.who === "robot") {
        assert.equal(me.kubernetes?.user, "system:serviceaccount:robots:robot");
        assert.ok(!me.kubernetes?.groups.includes("xbind:authenticated"));
      } else {
        const groups = [...caller.groups.map((group) => `xbind:${group}`), "xbind:authenticated"];
        assert.deepEqual(me.kubernetes, { user: userName(caller.who), groups });
      }
    });

    await t.step(`${label} the catalog shows what may be seen, and locks the rest`, async () => {
      const catalog = await gateway.read<Catalog>(token, "/api/catalog");
      assert.deepEqual(catalog.exports.map(({ name }) => name), caller.see);
      for (const { name, bindable } of catalog.exports) {
        assert.equal(bindable, mayBind(caller.bind, name) ? undefined : false, name);
      }
      const collections = Object.fromEntries(
        (catalog.collections ?? []).map(({ name, exports }) => [name, exports]),
      );
      assert.deepEqual(collections, {
        ...(sees("vault") ? { secret: ["vault"] } : {}),
        ...(caller.see.length > 0 ? { tools: caller.see } : {}),
      });
    });

    for (const name of ["widgets", "gadgets", "vault", "absent"]) {
      await t.step(`${label} ${name}: bind, apply and instances agree`, async () => {
        const bound = await gateway.tryBind(token, name);
        const applied = await gateway.as(
          token,
          "/api/apply",
          postJson({ export: name, kubeconfig: CONSUMER }),
        );
        const listed = await gateway.as(token, `/api/catalog/${name}/instances`);
        const notFound = `Cannot find Export "${name}"`;
        if (name !== "absent" && mayBind(caller.bind, name)) {
          assert.equal(bound.status, 200, await bound.clone().text());
          await bound.body?.cancel();
          await failure(applied, 502, /consumer cluster/);
        } else if (sees(name)) {
          const missing = new RegExp(`lacks the verb "bind" on exports\\.catalog.* "${name}"`);
          await failure(bound, 403, missing);
          await failure(applied, 403, missing);
        } else { // exactly as if the Export did not exist
          assert.equal(await failure(bound, 404), notFound);
          assert.equal(await failure(applied, 502), notFound);
        }
        if (sees(name)) {
          assert.equal(listed.status, 200);
          await listed.body?.cancel();
        } else assert.equal(await failure(listed, 404), notFound);
      });
    }

    await t.step(`${label} kubectl auth can-i gives the same answers`, async () => {
      if (caller.who === "robot") return; // asked under its own name, see above
      for (const name of ["widgets", "gadgets", "vault"]) {
        const resource = `exports.catalog.xbind.io/${name}`;
        const may = (verb: string): Promise<boolean> =>
          world.canI(caller.who, caller.groups, verb, resource);
        assert.equal(await may("get"), sees(name), name);
        assert.equal(await may("bind"), mayBind(caller.bind, name), name);
      }
      const canList = await world.canI(caller.who, caller.groups, "list", "grants.iam.xbind.io");
      assert.equal(canList, caller.all);
    });
  }
}

/** A consumer that no one can reach: an apply gets there only if it was allowed. */
const CONSUMER = btoa(JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "c", user: { token: "t" } }],
}));

Deno.test("a gateway that may ask in bulk shows and allows what RBAC says", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--kubernetes-auth"]);
  await checkMatrix(t, gateway);
  await t.step("a catalog takes at most two reviews, however often it is read", async () => {
    const token = await sessions.seal("carol", ["team-a"]);
    const before = (await world.reviews(gateway.account)).length;
    for (let i = 0; i < 50; i++) await gateway.read(token, "/api/catalog");
    const sent = (await world.reviews(gateway.account)).slice(before);
    assert.ok(sent.length <= 2, sent.map(({ requestURI }) => requestURI).join("\n"));
    assert.ok(sent.every(({ objectRef }) => objectRef?.resource === "selfsubjectrulesreviews"));
  });
  await t.step("each refusal is an audit line with its own code", () => {
    const lines = gateway.backend.log.filter(({ code }) => code === "access");
    const isSaid = (outcome: string, verb: string, name: string) =>
      lines.some((line) =>
        line.outcome === outcome && line.verb === verb && line.export === name &&
        line.user === userName("ada") && line.subject === sealedSubject("ada")
      );
    assert.ok(isSaid("FORBIDDEN", "bind", "gadgets"));
    assert.ok(isSaid("EXPORT_NOT_FOUND", "get", "vault"));
  });
});

Deno.test("a gateway that asks name by name shows and allows the same", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.BY_NAME, ["--kubernetes-auth"]);
  await checkMatrix(t, gateway);
  await t.step("rights to all Exports take two reviews", async () => {
    await world.allow("dora", ["get", "bind"], [], `--user=${userName("dora")}`);
    const token = await sessions.seal("dora");
    const before = (await world.reviews(gateway.account)).length;
    for (let i = 0; i < 20; i++) await gateway.read(token, "/api/catalog");
    const sent = (await world.reviews(gateway.account)).slice(before);
    const accepted = sent.filter(({ responseStatus }) => responseStatus?.code === 201);
    assert.equal(accepted.length, 2);
  });
});

Deno.test("callers without the right to list Grants see their own inventory only", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--kubernetes-auth"]);
  const [ada, bob, eve] = await Promise.all(
    [["ada", ["team-a"]], ["bob", []], ["eve", []]].map(([who, groups]) =>
      sessions.seal(who as string, groups as string[])
    ),
  ) as [string, string, string];
  const grants: Grant[] = [];
  for (const [who, token] of [["ada", ada], ["bob", bob]] as const) {
    await gateway.bind(token, "widgets");
    const name = grantName("widgets", sealedSubject(who));
    const grant = await provider.kube.get(GRANTS, { name });
    grants.push(grant);
    const { metadata: lease } = await provider.beat(grant, { consumerUid: `uid-of-${who}` });
    const problem = { api: WIDGETS, name: `broken-of-${who}`, reason: "Rejected", message: "" };
    const totals = { objects: 1, conflicts: 0, rejected: 1 };
    const summary = summaryText({ ...totals, problems: [problem] });
    await provider.edit(LEASES, lease, {
      metadata: { annotations: { [ANNOTATIONS.syncSummary]: summary } },
    });
    await provider.kube.create(customType(WIDGETS), {
      apiVersion: "example.org/v1",
      kind: customType(WIDGETS).kind,
      metadata: {
        ...synced(`uid-of-${who}`, name),
        name: `of-${who}`,
        namespace: boundaryName(sealedSubject(who)),
      },
    }, FIELD_MANAGERS.cli);
  }
  const listed = (token: string) =>
    gateway.read<Instances>(token, "/api/catalog/widgets/instances");
  const rows = async (token: string) => (await listed(token)).instances.map(({ name }) => name);
  const problems = async (token: string) => (await listed(token)).problems?.map(({ name }) => name);
  const uids = async (token: string) =>
    (await gateway.read<Clusters>(token, "/api/clusters")).clusters.map(({ uid }) => uid);

  await t.step("who may list Grants sees all", async () => {
    await eventually("both are shown", async () => (await rows(bob)).length === 2);
    await eventually("both clusters are shown", async () => (await uids(bob)).length === 2);
    await eventually("both problems are shown", async () => {
      assert.deepEqual(await problems(bob), ["broken-of-ada", "broken-of-bob"]);
      return true;
    });
  });
  await t.step("others see their own", async () => {
    assert.deepEqual(await rows(ada), ["of-ada"]);
    assert.deepEqual(await problems(ada), ["broken-of-ada"]);
    assert.deepEqual(await uids(ada), ["uid-of-ada"]);
    const clusters = await gateway.read<Clusters>(ada, "/api/clusters");
    const subjects = clusters.clusters.flatMap(({ bindings }) => bindings.map((b) => b.subject));
    assert.deepEqual(new Set(subjects), new Set([sealedSubject("ada")]));
    assert.ok(!JSON.stringify(clusters).includes(sealedSubject("bob")));
  });
  await t.step("a stranger sees nothing", async () => {
    assert.deepEqual(await gateway.read(eve, "/api/clusters"), { clusters: [] });
    await failure(await gateway.as(eve, "/api/catalog/widgets/instances"), 404);
  });
});

Deno.test("a change of RBAC takes effect, for pickups too", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  const token = await sessions.seal("fay");
  const names = async () =>
    (await gateway.read<Catalog>(token, "/api/catalog")).exports.map(({ name }) => name);
  assert.deepEqual(await names(), []);
  await failure(await gateway.tryBind(token, "vault"), 404);
  await world.allow("fay", ["get", "bind"], ["vault"], `--user=${userName("fay")}`);
  await t.step("a new right", async () => {
    await eventually("fay sees the vault", async () => (await names()).includes("vault"));
    await eventually("fay may bind", async () => {
      const answer = await gateway.tryBind(token, "vault");
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });
  const { pickupURL } = await gateway.bind(token, "vault");
  await world.forbid("fay");
  await t.step("a lost right", async () => {
    await eventually("fay sees nothing", async () => (await names()).length === 0);
    await eventually("fay may not bind", async () => {
      const answer = await gateway.tryBind(token, "vault");
      await answer.body?.cancel();
      return answer.status === 404;
    });
    await failure(await gateway.request(pickupURL), 403, /lacks the verb "bind"/);
  });
  await t.step("the refused pickup is not spent", async () => {
    await world.allow("fay", ["get", "bind"], ["vault"], `--user=${userName("fay")}`);
    await eventually("the pickup works", async () => {
      const answer = await gateway.request(pickupURL);
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });
});

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

Deno.test("a gateway whose reviews fail refuses everything with 503", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.NO_REVIEWS);
  const token = await sessions.seal("bob");
  const reason = /^Cannot check what you may do: the gateway may not create access reviews/;
  for (const path of ["/api/catalog", "/api/clusters", "/api/catalog/widgets/instances"]) {
    await t.step(path, async () => {
      const answer = await gateway.as(token, path);
      assert.ok(Number(answer.headers.get("Retry-After")) > 0);
      await failure(answer, 503, reason);
    });
  }
  await t.step("/api/bind", async () => {
    await failure(await gateway.tryBind(token, "widgets"), 503, reason);
  });
});

Deno.test("without authorization not one review is sent", async () => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--authorization=None"]);
  const eve = await sessions.seal("eve");
  const me = await gateway.read<Me>(eve, "/api/me");
  assert.deepEqual(me, { subject: sealedSubject("eve") });
  const { exports } = await gateway.read<Catalog>(eve, "/api/catalog");
  assert.deepEqual(exports.map(({ name }) => name), ["gadgets", "vault", "widgets"]);
  assert.ok(exports.every((entry) => !("bindable" in entry)));
  const { pickupURL } = await gateway.bind(eve, "vault");
  assert.equal((await (await gateway.request(pickupURL)).text()).includes("kind: Secret"), true);
  await gateway.read(eve, "/api/clusters");
  await gateway.read(eve, "/api/catalog/vault/instances");
  await failure(
    await gateway.as(eve, "/api/apply", postJson({ export: "vault", kubeconfig: CONSUMER })),
    502,
  );
  assert.deepEqual(await world.reviews(gateway.account), []);
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
      assert.ok([502, 503].includes(await statusOf(eve, path)), path);
    }
  });
  await t.step("who was allowed is refused when the answer is too old", async () => {
    for (const path of ["/api/catalog", "/api/clusters"]) {
      await eventually(path, async () => [502, 503].includes(await statusOf(bob, path)));
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
  const inBulk = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
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
  const byName = await world.gateway(GATEWAY_RIGHTS.BY_NAME);
  await t.step("otherwise, rights to all still take two reviews", async () => {
    await eventually("all Exports are shown", async () => {
      return (await catalogOf(byName, bob)).exports.length === 103;
    });
    const { exports } = await catalogOf(byName, hal);
    assert.ok(exports.every(({ bindable }) => bindable === undefined));
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
