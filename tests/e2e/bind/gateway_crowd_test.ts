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

/** Places for binds, and for pickups. */
const PLACES = 1_000;
/** Of one identity, or of all who guess: places, and how many of those run. */
const SHARE = 100;
const RUNNING = 8;
const TOO_MANY = 50;
const PEOPLE = 20;

// Before any test, so that no test is charged with processes it does not end.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());
const { env, seal } = await sealedSessions();

/** A bind on a connection of its own, for as long as the test wants. */
class WaitingBind {
  readonly #connection: Deno.Conn;
  /** What the gateway said until it or we closed the connection. */
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

  /** So many at once; `tokens` take turns. */
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

/** Waits until so many are told to come back later; gives those who still wait. */
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

Deno.test("guesses at pickups take no place of those who have one", async (t) => {
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
  const impatience = new AbortController();
  const answered: Response[] = [];
  const ask = async (nth: number) => {
    const { signal } = nth % 2 ? impatience : new AbortController();
    answered.push(await gateway.request(guess(nth), { signal }));
  };
  const flood = Promise.allSettled(Array.from({ length: SHARE + TOO_MANY }, (_, nth) => ask(nth)));

  await t.step("a few guesses are looked at, some wait, the others come back later", async () => {
    await eventually("some are refused", () => answered.length >= TOO_MANY);
    for (const answer of answered.splice(0)) {
      assert.match(answer.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
      await failure(answer, 503, /^Cannot pick up the bundle: too many pickups are under way; /);
    }
    await eventually("a few are looked at", () => reads >= RUNNING);
    await eventually("the log says so", () => audited("UNAVAILABLE").length >= TOO_MANY);
    assert.deepEqual([reads, audited("UNAVAILABLE").length], [RUNNING, TOO_MANY]);
  });

  await t.step("who has a pickup is served meanwhile, once", async () => {
    const answer = await gateway.request(pickupURL);
    assert.equal(answer.status, 200);
    assert.equal(objectsIn(await answer.text()).length, 3);
    // What is spent is no better than a guess, so nobody can tell it from one.
    await eventually("it is known to be spent", async () => {
      return await failure(await gateway.request(pickupURL), 503);
    });
    await failure(await gateway.request("/api/bundle/malformed"), 410);
  });

  await t.step("those who go away make room for others", async () => {
    const refusals = audited("UNAVAILABLE").length;
    impatience.abort();
    await eventually("the gateway knows that they are gone", () => {
      return audited("UNAVAILABLE").length > refusals;
    });
    assert.deepEqual([answered.length, reads], [0, RUNNING]);
    const next = gateway.request(pickupURL);
    open.resolve();
    await failure(await next, 410);
  });

  await t.step("each guess that waited is refused in one form", async () => {
    await flood;
    assert.ok(answered.length > 0);
    const messages = await Promise.all(answered.map((answer) => failure(answer, 410)));
    assert.equal(new Set(messages).size, 1);
  });
});

Deno.test("a thousand binds may wait, and nobody else suffers from it", async (t) => {
  await using gateway = await Gateway.start(plane, { env, flags: ["--enable-issuer=false"] });
  using provider = await TestProvider.of(plane);
  const grants = async () => (await provider.kube.list(GRANTS)).length;
  const before = await grants();
  const token = await seal("honest");
  const readCatalog = async () => {
    const { exports } = await gateway.read<Catalog>(token, "/api/catalog");
    assert.deepEqual(exports.map(({ name }) => name).sort(), ["gears", "widgets"]);
  };
  await eventually("the catalog is there", async () => (await readCatalog(), true));
  const audited = () => gateway.backend.log.filter(({ code }) => code === "bind");
  const outcomes = () => new Set(audited().map(({ outcome }) => outcome));
  const hasAudited = async (count: number) => {
    await eventually("the log says so", () => audited().length >= count);
    assert.equal(audited().length, count);
  };

  await t.step("one identity gets a hundred places of them, and others bind", async () => {
    const all = await WaitingBind.crowd(gateway.url, [await seal("greedy")], PLACES);
    const crowd = await stillWaiting(all, PLACES - SHARE, readCatalog);
    assert.equal(crowd.length, SHARE);
    await hasAudited(PLACES - SHARE);
    const next = await gateway.tryBind(await seal("greedy"), "widgets");
    await failure(next, 503, /^Cannot bind: too many binds of yours are waiting$/);
    assert.deepEqual([...outcomes()], ["UNAVAILABLE"]);
    await gateway.bind(token, "gears");
    assert.ok(crowd.every(({ isAnswered }) => !isAnswered), "they wait no more");
    assert.equal(await grants(), before + 1);
    await Promise.all(crowd.map((bind) => bind.leave()));
    await hasAudited(PLACES + 2);
  });

  const tokens = await Promise.all(
    Array.from({ length: PEOPLE }, (_, index) => seal(`person-${index}`)),
  );
  const lines = audited().length;
  let crowd = await WaitingBind.crowd(gateway.url, tokens, PLACES + TOO_MANY);

  await t.step("those beyond are told to come back, and others are served meanwhile", async () => {
    crowd = await stillWaiting(crowd, TOO_MANY, readCatalog);
    assert.equal(crowd.length, PLACES);
    await hasAudited(lines + TOO_MANY);
    await failure(await gateway.as(token, "/api/catalog/absent/instances"), 404);
    assert.equal(await grants(), before + 1 + PEOPLE);
  });

  await t.step("who has no bind under way gets the place of somebody who has many", async () => {
    await gateway.bind(token, "gears");
    crowd = await stillWaiting(crowd, 1, readCatalog);
    await hasAudited(lines + TOO_MANY + 2);
    assert.deepEqual([...outcomes()].sort(), ["UNAVAILABLE", "ok"]);
  });

  await t.step("those who go away make room", async () => {
    await Promise.all(crowd.splice(0, PLACES / 2).map((bind) => bind.leave()));
    await hasAudited(lines + TOO_MANY + 2 + PLACES / 2);
    const next = await WaitingBind.start(gateway.url, await seal("late"), "widgets");
    crowd.push(next);
    await eventually("another waits", async () => await grants() > before + 1 + PEOPLE);
    assert.ok(!next.isAnswered);
  });

  await t.step("a stop sends the others home at once", async () => {
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
