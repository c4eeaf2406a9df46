import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { GRANTS } from "../../../common/api/resources.ts";
import type { Catalog } from "../../../common/api/wire.ts";
import { formatPickupToken } from "../../../server/bind/pickup.ts";
import { grantName } from "../../../common/api/names.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import type { Fault } from "../../support/faults/fault_proxy.ts";
import { GatewayBehindProxy } from "../../support/worlds/gateway_behind_proxy.ts";
import { failure, Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { statusOf } from "../../support/peers/raw_http.ts";
import { sealedSessions, sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { objectsIn } from "../../support/worlds/test_konnector.ts";

/** Slots for binds, and for pickups. */
const SLOTS = 1_000;
/** Slots of one identity, or of all guesses; only some of them run at once. */
const SHARE = 100;
const RUNNING = 8;
const TOO_MANY = 50;
const PEOPLE = 20;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());
const { env, seal } = await sealedSessions();

/** A bind that waits on its own connection until the test closes it. */
class WaitingBind {
  readonly #connection: Deno.Conn;
  /** The gateway's answer, complete when the connection is closed. */
  readonly said: Promise<string>;
  isAnswered = false;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
    this.said = new Response(connection.readable).text().catch(() => "")
      .finally(() => this.isAnswered = true);
  }

  static async start(url: string, token: string, exportName: string): Promise<WaitingBind> {
    const { hostname, port, host } = new URL(url);
    const body = JSON.stringify({ export: exportName });
    const head = [
      "POST /api/bind HTTP/1.1",
      `Host: ${host}`,
      `Authorization: Bearer ${token}`,
      `Content-Length: ${body.length}`,
      "Connection: close",
    ];
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n${body}`));
    return new WaitingBind(connection);
  }

  /** Starts this many binds at once; `tokens` take turns. */
  static async crowd(url: string, tokens: readonly string[], size: number): Promise<WaitingBind[]> {
    return await Promise.all(
      Array.from(
        { length: size },
        (_, nth) => WaitingBind.start(url, tokens[nth % tokens.length] ?? "", "widgets"),
      ),
    );
  }

  async leave(): Promise<void> {
    this.#connection.close();
    await this.said;
  }
}

/** Waits until this many binds are refused with 503; returns the others. */
async function stillWaiting(
  crowd: readonly WaitingBind[],
  refusals: number,
  meanwhile: () => Promise<unknown>,
): Promise<WaitingBind[]> {
  const refused = await eventually("some are refused", async () => {
    await meanwhile();
    const answered = crowd.filter(({ isAnswered }) => isAnswered);
    return answered.length >= refusals && answered;
  });
  for (const { said } of refused) {
    const answer = await said;
    assert.equal(statusOf(answer), 503, answer);
    assert.match(answer, /\r\nretry-after: [1-9]/i);
  }
  assert.equal(refused.length, refusals);
  return crowd.filter(({ isAnswered }) => !isAnswered);
}

Deno.test("guessed pickups do not block valid pickups", async (t) => {
  await using site = await GatewayBehindProxy.start(plane, "guessed", { env });
  const { gateway, proxy } = site;
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  for (const name of ["widgets", "gears"]) await provider.offerReady(name, [WIDGETS]);
  const { pickupURL } = await gateway.bind(await seal("honest"), "gears");
  await gateway.bind(await seal("victim"), "gears");
  const names = ["no-such-grant", grantName("gears", sealedSubject("victim"))];
  const guess = (nth: number) =>
    `/api/bundle/${formatPickupToken(names[nth % 2] ?? "", randomBytes(24))}`;

  const open = Promise.withResolvers<void>();
  let reads = 0;
  proxy.faults = ({ method, path }): Fault | undefined => {
    if (method !== "GET" || !names.some((name) => path.endsWith(`/grants/${name}`))) return;
    reads++;
    return {
      kind: "gate",
      pass: async (forward) => {
        await open.promise;
        await forward();
        return true;
      },
    };
  };
  const audited = (outcome: string) =>
    gateway.backend.log.filter((line) => line["code"] === "pickup" && line["outcome"] === outcome);
  const impatient = new AbortController();
  const answered: Response[] = [];
  const ask = async (nth: number) => {
    const { signal } = nth % 2 ? impatient : new AbortController();
    answered.push(await gateway.request(guess(nth), { signal }));
  };
  const flood = Promise.allSettled(Array.from({ length: SHARE + TOO_MANY }, (_, nth) => ask(nth)));

  await t.step("8 guesses run, 92 wait, and the others get 503", async () => {
    await eventually("some are refused", () => answered.length >= TOO_MANY);
    for (const answer of answered.splice(0)) {
      assert.match(answer.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
      await failure(answer, 503, /^Cannot pick up the bundle: too many pickups are under way; /);
    }
    await eventually("some are running", () => reads >= RUNNING);
    await eventually("the log says so", () => audited("UNAVAILABLE").length >= TOO_MANY);
    assert.deepEqual([reads, audited("UNAVAILABLE").length], [RUNNING, TOO_MANY]);
  });

  await t.step("a valid pickup is served meanwhile, once", async () => {
    const answer = await gateway.request(pickupURL);
    assert.equal(answer.status, 200);
    assert.equal(objectsIn(await answer.text()).length, 3);
    // A consumed pickup is treated like a guess, so that callers cannot tell them apart.
    await eventually("it counts as a guess", async () => {
      return await failure(await gateway.request(pickupURL), 503);
    });
    await failure(await gateway.request("/api/bundle/malformed"), 410);
  });

  await t.step("callers that disconnect free their slots", async () => {
    const refusals = audited("UNAVAILABLE").length;
    impatient.abort();
    await eventually("the gateway notices it", () => {
      return audited("UNAVAILABLE").length > refusals;
    });
    assert.deepEqual([answered.length, reads], [0, RUNNING]);
    const next = gateway.request(pickupURL);
    open.resolve();
    await failure(await next, 410);
  });

  await t.step("all waiting guesses get the same answer", async () => {
    await flood;
    assert.ok(answered.length > 0);
    const messages = await Promise.all(answered.map((answer) => failure(answer, 410)));
    assert.equal(new Set(messages).size, 1);
  });
});

Deno.test("a thousand binds can wait without blocking other requests", async (t) => {
  await using gateway = await Gateway.start(plane, { env, flags: ["--enable-issuer=false"] });
  using provider = await TestProvider.of(plane);
  const grants = async () => (await provider.kube.list(GRANTS)).length;
  /** The refusals may come before the first binds have made their Grants. */
  const hasGrants = async (count: number) => {
    await eventually("the Grants are made", async () => await grants() >= count);
    assert.equal(await grants(), count);
  };
  const before = await grants();
  const token = await seal("honest");
  const readCatalog = async () => {
    const { exports } = await gateway.read<Catalog>(token, "/api/catalog");
    assert.deepEqual(exports.map(({ name }) => name).sort(), ["gears", "widgets"]);
  };
  await eventually("the catalog is complete", async () => (await readCatalog(), true));
  const audited = () => gateway.backend.log.filter(({ code }) => code === "bind");
  const outcomes = () => new Set(audited().map(({ outcome }) => outcome));
  const hasAudited = async (count: number) => {
    await eventually("the log says so", () => audited().length >= count);
    assert.equal(audited().length, count);
  };

  await t.step("one identity gets a hundred slots, and others can bind", async () => {
    const all = await WaitingBind.crowd(gateway.url, [await seal("greedy")], SLOTS);
    const crowd = await stillWaiting(all, SLOTS - SHARE, readCatalog);
    assert.equal(crowd.length, SHARE);
    await hasAudited(SLOTS - SHARE);
    const next = await gateway.tryBind(await seal("greedy"), "widgets");
    await failure(next, 503, /^Cannot bind: too many binds of yours are waiting$/);
    assert.deepEqual([...outcomes()], ["UNAVAILABLE"]);
    await gateway.bind(token, "gears");
    assert.ok(crowd.every(({ isAnswered }) => !isAnswered), "a waiting bind was answered");
    await hasGrants(before + 1);
    await Promise.all(crowd.map((bind) => bind.leave()));
    await hasAudited(SLOTS + 2);
  });

  const tokens = await Promise.all(
    Array.from({ length: PEOPLE }, (_, index) => seal(`person-${index}`)),
  );
  const lines = audited().length;
  let crowd = await WaitingBind.crowd(gateway.url, tokens, SLOTS + TOO_MANY);

  await t.step("binds beyond the limit get 503, and other requests are served", async () => {
    crowd = await stillWaiting(crowd, TOO_MANY, readCatalog);
    assert.equal(crowd.length, SLOTS);
    await hasAudited(lines + TOO_MANY);
    await failure(await gateway.as(token, "/api/catalog/absent/instances"), 404);
    await hasGrants(before + 1 + PEOPLE);
  });

  await t.step("an identity without a bind gets the slot of an identity with many", async () => {
    await gateway.bind(token, "gears");
    crowd = await stillWaiting(crowd, 1, readCatalog);
    await hasAudited(lines + TOO_MANY + 2);
    assert.deepEqual([...outcomes()].sort(), ["UNAVAILABLE", "ok"]);
  });

  await t.step("callers that disconnect free their slots", async () => {
    await Promise.all(crowd.splice(0, SLOTS / 2).map((bind) => bind.leave()));
    await hasAudited(lines + TOO_MANY + 2 + SLOTS / 2);
    const next = await WaitingBind.start(gateway.url, await seal("late"), "widgets");
    crowd.push(next);
    await eventually("another bind waits", async () => await grants() > before + 1 + PEOPLE);
    assert.ok(!next.isAnswered);
  });

  await t.step("SIGTERM ends the waiting binds at once", async () => {
    gateway.backend.signal("SIGTERM");
    for (const { said } of crowd) {
      const answer = await said;
      assert.equal(statusOf(answer), 503, answer);
      assert.match(answer, /\r\nretry-after: [1-9]/i);
    }
    await Promise.all(crowd.map((bind) => bind.leave().catch(() => {})));
    assert.equal(await gateway.backend.ended(), 0);
  });
});
