import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import {
  condition,
  type Conditioned,
  GRANTS,
  isReady,
  type KubeObject,
} from "../../../common/api/resources.ts";
import type { BindResult, Catalog, Clusters, Me } from "../../../common/api/wire.ts";
import { providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { sealedSubject } from "../../support/planes/sealed_sessions.ts";
import {
  type AskingGateway,
  AuthorizationWorld,
  GATEWAY_RIGHTS,
  ISSUER,
  userName,
} from "../../support/worlds/authorization_world.ts";
import { failure, okJson, postJson } from "../../support/worlds/gateway_world.ts";

const world = await AuthorizationWorld.start();
const { sessions } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** Every caller of the matrix: session or token of the provider, groups, and rights. */
const CALLERS = [
  { who: "ada", groups: ["team-a"], see: ["gadgets", "widgets"], bind: ["widgets"], all: false },
  { who: "bob", groups: [], see: ["gadgets", "vault", "widgets"], bind: "all", all: true },
  { who: "robot", groups: [], see: ["gadgets"], bind: ["gadgets"], all: false },
  { who: "eve", groups: ["team-b"], see: [], bind: [], all: false },
] as const;

const EXPORT_NAMES = ["widgets", "gadgets", "vault"];

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

    for (const name of [...EXPORT_NAMES, "absent"]) {
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
          const { pickupURL } = await okJson<BindResult>(bound);
          const bundle = await gateway.request(pickupURL);
          assert.match(await bundle.text(), /^kind: Secret$/m);
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

    await t.step(`${label} clusters are one's own, unless all may be seen`, async () => {
      const clusters = await gateway.read<Clusters>(token, "/api/clusters");
      const shown = (clusters.pending ?? []).map(({ grant }) => grant);
      const own = EXPORT_NAMES.filter((name) => mayBind(caller.bind, name))
        .map((name) => grantName(name, subjectOf(caller.who)));
      if (caller.all) assert.ok(own.every((name) => shown.includes(name)));
      else assert.deepEqual(shown, own.sort());
    });

    await t.step(`${label} kubectl auth can-i gives the same answers`, async () => {
      if (caller.who === "robot") return; // asked under its own name, see above
      for (const name of EXPORT_NAMES) {
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
const CONSUMER = btoa(
  JSON.stringify(providerKubeconfig({ server: "https://127.0.0.1:1", token: "t" })),
);

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
    const { log } = gateway.backend;
    const refusalsOf = (verb: string, name: string) =>
      log.filter((line) =>
        line.code === "access" && line.verb === verb && line.export === name &&
        line.user === userName("ada") && line.subject === sealedSubject("ada")
      ).map(({ outcome }) => outcome);
    // bind and apply
    assert.deepEqual(refusalsOf("bind", "gadgets"), ["FORBIDDEN", "FORBIDDEN"]);
    // bind, apply and instances
    assert.deepEqual(refusalsOf("get", "vault"), Array(3).fill("EXPORT_NOT_FOUND"));
    const applies = log.filter((line) =>
      line.code === "apply" && line.subject === sealedSubject("ada")
    );
    const outcomes = applies.map((line) => [line.export, line.outcome]);
    assert.deepEqual(outcomes, [
      ["widgets", "APPLY_FAILED"],
      ["gadgets", "FORBIDDEN"],
      ["vault", "APPLY_FAILED"],
      ["absent", "APPLY_FAILED"],
    ]);
  });
});

Deno.test("a gateway that asks name by name shows and allows the same", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.BY_NAME, ["--kubernetes-auth"]);
  await checkMatrix(t, gateway);
  await t.step("rights to all Exports take two reviews", async () => {
    await world.allow("dora", ["get", "bind"], [], `--user=${userName("dora")}`);
    for (const verb of ["get", "bind"]) {
      await eventually(`RBAC allows ${verb}`, () => {
        return world.canI("dora", [], verb, "exports.catalog.xbind.io");
      });
    }
    const token = await sessions.seal("dora");
    const before = (await world.reviews(gateway.account)).length;
    for (let i = 0; i < 20; i++) await gateway.read(token, "/api/catalog");
    const sent = (await world.reviews(gateway.account)).slice(before);
    const accepted = sent.filter(({ responseStatus }) => responseStatus?.code === 201);
    assert.equal(accepted.length, 2);
  });
});

/** A change of RBAC takes effect within this time. */
const AT_ONCE = { timeoutMs: 10_000 };

Deno.test("a change of RBAC takes effect within 10 s, for pickups too", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  const token = await sessions.seal("fay");
  const names = async () =>
    (await gateway.read<Catalog>(token, "/api/catalog")).exports.map(({ name }) => name);
  const statusOf = async (answer: Promise<Response>) => {
    const { body, status } = await answer;
    await body?.cancel();
    return status;
  };
  const bindStatus = () => statusOf(gateway.tryBind(token, "vault"));
  const allow = (verbs: string[]) =>
    world.allow("fay", verbs, ["vault"], `--user=${userName("fay")}`);
  assert.deepEqual(await names(), []);
  assert.equal(await bindStatus(), 404);
  await allow(["get", "bind"]);
  await t.step("a new right", async () => {
    await Promise.all([
      eventually("fay sees the vault", async () => (await names()).includes("vault"), AT_ONCE),
      eventually("fay may bind", async () => await bindStatus() === 200, AT_ONCE),
    ]);
  });
  const { pickupURL } = await gateway.bind(token, "vault");
  const refusedPickup = (reason: RegExp) =>
    eventually("the pickup is refused", async () => {
      await failure(await gateway.request(pickupURL), 403, reason);
      return true;
    }, AT_ONCE);
  await world.forbid("fay");
  await t.step("a lost right", async () => {
    // A bind would replace the pickup.
    const lookStatus = () => statusOf(gateway.as(token, "/api/catalog/vault/instances"));
    await Promise.all([
      eventually("fay sees nothing", async () => (await names()).length === 0, AT_ONCE),
      eventually("fay may not look", async () => await lookStatus() === 404, AT_ONCE),
    ]);
    assert.equal(await bindStatus(), 404);
    await refusedPickup(/lacks the verb "bind"/);
    const line = await eventually("the pickup is logged", () => {
      return gateway.backend.log.find(({ code }) => code === "pickup");
    });
    assert.equal(line.outcome, "FORBIDDEN");
    assert.equal(line.subject, sealedSubject("fay"));
  });
  await t.step("the right to bind what may not be seen is no right", async () => {
    await allow(["bind"]);
    await refusedPickup(/lacks the verb "get"/);
    assert.equal(await bindStatus(), 404);
    assert.deepEqual(await names(), []);
    await world.forbid("fay");
  });
  await t.step("all these looks at the catalog took at most 2 reviews in any 10 s", async () => {
    const times = (await world.reviews(gateway.account))
      .filter(({ objectRef }) => objectRef?.resource === "selfsubjectrulesreviews")
      .map((event) => Date.parse(event.requestReceivedTimestamp));
    assert.ok(times.length >= 3, String(times.length));
    for (const from of times) {
      const inTenSeconds = times.filter((at) => at >= from && at < from + 10_000);
      assert.ok(inTenSeconds.length <= 2, times.join(" "));
    }
  });
  await t.step("the refused pickup is not spent", async () => {
    await allow(["get", "bind"]);
    await eventually(
      "the pickup works",
      async () => await statusOf(gateway.request(pickupURL)) === 200,
      AT_ONCE,
    );
  });
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
  await t.step("/api/apply", async () => {
    const request = postJson({ export: "widgets", kubeconfig: CONSUMER });
    await failure(await gateway.as(token, "/api/apply", request), 503, reason);
  });
  await t.step("/api/bundle", async () => {
    const asking = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
    const { pickupURL } = await asking.bind(token, "widgets");
    await failure(await gateway.request(pickupURL), 503, reason);
    const bundle = await asking.request(pickupURL); // it is not spent
    assert.match(await bundle.text(), /^kind: Secret$/m);
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
  assert.deepEqual(await world.reviews(ISSUER), []);
});

Deno.test("without authorization, Grants lose the condition Authorized", async () => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK, ["--authorization=None"]);
  const { grant: name } = await gateway.bind(await sessions.seal("eve"), "widgets");
  const { kube } = world.provider;
  const read = () => kube.get(GRANTS, { name });
  const judged = {
    type: "Authorized",
    status: "False" as const,
    reason: "Revoked",
    message: "",
    lastTransitionTime: new Date().toISOString(),
  };
  const { apiVersion, kind } = await read();
  await kube.applyStatus<KubeObject & Conditioned>(
    GRANTS,
    { apiVersion, kind, metadata: { name }, status: { conditions: [judged] } },
    FIELD_MANAGERS.authorizer,
  );
  const grant = await eventually("the condition is gone", async () => {
    const found = await read();
    return !condition(found, "Authorized") && found;
  });
  assert.ok(isReady(grant));
});
