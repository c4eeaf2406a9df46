import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { type Export, EXPORTS, GRANTS } from "../../server/api/resources.ts";
import type { Catalog } from "../../server/api/wire.ts";
import { createSessionCodec } from "../../server/gateway/auth/session.ts";
import { FIELD_MANAGERS } from "../../server/names.ts";
import { ownPlane } from "../support/control_planes.ts";
import { failure, Gateway, Provider, sessionKeys } from "../support/gateway_world.ts";
import { statusOf } from "../support/raw_http.ts";

const MAX_WAITING = 1_000;
const TOO_MANY = 50;
const PEOPLE = 20;

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

  async leave(): Promise<void> {
    this.#connection.close();
    await this.said;
  }
}

Deno.test("a thousand binds may wait, and nobody else suffers from it", async (t) => {
  await using plane = await ownPlane({ controllerManager: false });
  const { env, ...keys } = sessionKeys();
  await using gateway = await Gateway.start(plane, { env, flags: ["--enable-issuer=false"] });
  using provider = await Provider.of(plane);
  await markReady(provider, await provider.offer("widgets", ["widgets.example.org"]));
  const codec = await createSessionCodec({ ...keys, sessionTtlMs: 600_000, now: () => new Date() });
  const sealed = (who: string) => codec.sealSession({ subject: `test#${who}` });
  const tokens = await Promise.all(
    Array.from({ length: PEOPLE }, (_, index) => sealed(`${index}`)),
  );
  const [token = ""] = tokens;
  const start = (nth: number) =>
    WaitingBind.start(gateway.url, tokens[nth % PEOPLE] ?? "", "widgets");
  const readCatalog = async () => {
    const { exports } = await gateway.read<Catalog>(token, "/api/catalog");
    assert.deepEqual(exports.map(({ name }) => name), ["widgets"]);
  };
  await eventually("the catalog is there", async () => (await readCatalog(), true));
  const audited = () => gateway.backend.log.filter(({ code }) => code === "bind");
  let crowd = await Promise.all(
    Array.from({ length: MAX_WAITING + TOO_MANY }, (_, index) => start(index)),
  );

  await t.step("those beyond are told to come back, and others are served meanwhile", async () => {
    const refused = await eventually("some are refused", async () => {
      await readCatalog();
      const answered = crowd.filter(({ isAnswered }) => isAnswered);
      return answered.length >= TOO_MANY && answered;
    });
    for (const { said } of refused) {
      const answer = await said;
      assert.equal(statusOf(answer), 503, answer);
      assert.match(answer, /\r\nretry-after: [1-9]/i);
    }
    crowd = crowd.filter(({ isAnswered }) => !isAnswered);
    assert.equal(crowd.length, MAX_WAITING);
    const next = await gateway.tryBind(token, "widgets");
    assert.match(next.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
    await failure(next, 503, /^Cannot bind: too many binds are waiting$/);
    assert.equal(audited().length, TOO_MANY + 1);
    await failure(await gateway.as(token, "/api/catalog/absent/instances"), 404);
    assert.equal((await provider.kube.list(GRANTS)).length, PEOPLE);
  });

  await t.step("those who go away make room", async () => {
    await Promise.all(crowd.splice(0, MAX_WAITING / 2).map((bind) => bind.leave()));
    await eventually("the gateway knows that they are gone", () => {
      return audited().length >= TOO_MANY + 1 + MAX_WAITING / 2;
    });
    const next = await WaitingBind.start(gateway.url, await sealed("late"), "widgets");
    crowd.push(next);
    await eventually("another waits", async () => {
      return (await provider.kube.list(GRANTS)).length > PEOPLE;
    });
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

/** Says of an Export what an issuer would. */
async function markReady({ kube }: Provider, { metadata, ...offer }: Export): Promise<void> {
  const { name, generation = 0 } = metadata;
  const ready = {
    type: "Ready",
    status: "True" as const,
    reason: "AsExpected",
    message: "All APIs are exported",
    lastTransitionTime: new Date().toISOString(),
    observedGeneration: generation,
  };
  const judged = { ...offer, metadata: { name }, status: { conditions: [ready] } };
  await kube.applyStatus(EXPORTS, judged, FIELD_MANAGERS.exports);
}
