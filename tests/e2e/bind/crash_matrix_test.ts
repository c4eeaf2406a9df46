import assert from "node:assert/strict";
import { parse } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  EXPORTS,
  type Grant,
  GRANTS,
  isReady,
  NAMESPACES,
  type Secret,
} from "../../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, grantName } from "../../../common/api/names.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { failure, Gateway } from "../../support/worlds/gateway_world.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { sealedSessions, sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { objectsIn } from "../../support/worlds/test_konnector.ts";
import { type KillPoint, killPoints, pointText } from "../../support/faults/write_gate.ts";

const EXPORT = "widgets";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const sessions = await sealedSessions();
const world = await CrashWorld.start(
  "--enable-gateway",
  "--listen-address=127.0.0.1:0",
  "--oidc-mock",
  ...sessions.flags,
);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;
await provider.offer(EXPORT, [WIDGETS]);

/** Waits until the issuer has set the changed Export to Ready. */
const offered = () =>
  eventually("the Export is Ready", async () => {
    return isReady(await provider.kube.get(EXPORTS, { name: EXPORT }));
  });
await offered();

const nameFor = (who: string): string => grantName(EXPORT, sealedSubject(who));

const bind = async (who: string) =>
  await (await Gateway.of(world.backend)).bind(await sessions.seal(who), EXPORT);

/** Picks up a complete bundle, and returns its Secret. */
async function pickUp(pickupURL: string): Promise<Secret> {
  const answer = await (await Gateway.of(world.backend)).request(pickupURL);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const [secret, ...others] = objectsIn(text);
  assert.deepEqual(others.map(({ kind }) => kind), ["Connection", "ClusterBinding"]);
  return secret as Secret;
}

/** Binds again, and checks the pickup, the Grant and its credentials. */
async function bindsAgain(who: string): Promise<void> {
  const { pickupURL, grant: name } = await bind(who);
  assert.equal(name, nameFor(who));
  const secret = await pickUp(pickupURL);
  await failure(await (await Gateway.of(world.backend)).request(pickupURL), 410);
  const grants = await provider.kube.list(GRANTS);
  const own = grants.filter(({ spec }) => spec.identity.subject === sealedSubject(who));
  assert.deepEqual(own.map(({ metadata }) => metadata.name), [name], "more than one Grant");
  const grant = own[0] as Grant;
  const offer = await provider.kube.get(EXPORTS, { name: EXPORT });
  assert.equal(grant.spec.conflictPolicy, offer.spec.defaults?.conflictPolicy);
  await world.provisioned(grant);
  const boundary = await provider.kube.get(NAMESPACES, { name: boundaryName(sealedSubject(who)) });
  assert.equal(boundary.metadata.annotations?.[ANNOTATIONS.reapBoundary], undefined);
  using consumer = await provider.issued(grant);
  const { headers } = await consumer.transport.send({
    method: "GET",
    path: "/version",
    attempt: "Cannot ask",
    timeoutMs: 10_000,
  }).then(({ credentials }) => credentials);
  const { users } = parse(secret.stringData?.["kubeconfig"] ?? "");
  assert.equal(headers["Authorization"], `Bearer ${users[0].user.token}`);
}

/** An action of a caller in which the gateway writes. */
interface Scenario {
  readonly name: string;
  /** Runs before the action, which gets its result. */
  prepare(who: string): Promise<string>;
  act(who: string, prepared: string): Promise<unknown>;
  /** The gateway's own writes; the issuer's writes in between have their own test. */
  readonly writes: readonly string[];
  /** Checks the first request after the crash. */
  after?(point: KillPoint, prepared: string): Promise<void>;
}

let policies = 0;

const SCENARIOS: readonly Scenario[] = [
  {
    name: "a first bind",
    prepare: () => Promise.resolve(""),
    act: bind,
    writes: ["create grants"],
  },
  {
    name: "a bind of an Export that has changed",
    prepare: async (who) => {
      await bind(who);
      const conflictPolicy = policies++ % 2 ? "Fail" : "Adopt";
      await provider.edit(EXPORTS, { name: EXPORT }, { spec: { defaults: { conflictPolicy } } });
      await offered();
      return "";
    },
    act: bind,
    writes: ["patch grants", "patch grants"],
  },
  {
    name: "a bind of a Ready Grant",
    prepare: async (who) => (await bind(who)).grant,
    act: bind,
    writes: ["patch grants"],
  },
  {
    name: "a pickup",
    prepare: async (who) => (await bind(who)).pickupURL,
    act: (_who, pickupURL) => pickUp(pickupURL),
    writes: ["patch grants"],
    after: async ({ when }, pickupURL) => {
      if (when === "before") return void await pickUp(pickupURL);
      await failure(await (await Gateway.of(world.backend)).request(pickupURL), 410);
    },
  },
];

/** The kill points around the gateway's own writes. */
function ownPoints(passed: readonly string[], { writes }: Scenario): KillPoint[] {
  const left = [...writes].reverse();
  const own = new Set<number>();
  for (let index = passed.length - 1; index >= 0; index--) {
    if (passed[index] !== left[0]) continue;
    own.add(index);
    left.shift();
  }
  assert.deepEqual(left, [], `not all of the writes are in ${passed.join()}`);
  return killPoints(passed).filter((_, index) => own.has(Math.floor(index / 2)));
}

Deno.test("POST /api/bind works after a gateway was killed at any write of a bind or pickup", async (t) => {
  for (const [nth, scenario] of SCENARIOS.entries()) {
    const recorded = `recorded-${nth}`;
    const before = await scenario.prepare(recorded);
    const passed = await world.writesOf(() => scenario.act(recorded, before));
    for (const [round, point] of ownPoints(passed, scenario).entries()) {
      await t.step(`${scenario.name}, killed ${pointText(point)}`, async () => {
        const who = `victim-${nth}-${round}`;
        const prepared = await scenario.prepare(who);
        await world.killedAt(point, async () => {
          await assert.rejects(scenario.act(who, prepared), TypeError, "the connection broke");
        });
        await world.succeed();
        await scenario.after?.(point, prepared);
        await bindsAgain(who);
        assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
      });
    }
  }
  await t.step("the finalizer was removed last", () => assert.deepEqual(world.violations, []));
});
