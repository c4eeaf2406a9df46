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

// Before any test, so that no test is charged with processes it does not end.
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

/** Waits until the issuer has judged the Export as it is now. */
const offered = () =>
  eventually("the Export is Ready", async () => {
    return isReady(await provider.kube.get(EXPORTS, { name: EXPORT }));
  });
await offered();

const nameFor = (who: string): string => grantName(EXPORT, sealedSubject(who));

const bind = async (who: string) =>
  await (await Gateway.of(world.backend)).bind(await sessions.seal(who), EXPORT);

/** What a pickup brings, which must be all that the Grant needs. */
async function pickUp(pickupURL: string): Promise<Secret> {
  const answer = await (await Gateway.of(world.backend)).request(pickupURL);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const [secret, ...others] = objectsIn(text);
  assert.deepEqual(others.map(({ kind }) => kind), ["Connection", "ClusterBinding"]);
  return secret as Secret;
}

/** Binds until it works, as people do, and checks what they have then. */
async function bindsAgain(who: string): Promise<void> {
  const { pickupURL, grant: name } = await bind(who);
  assert.equal(name, nameFor(who));
  const secret = await pickUp(pickupURL);
  await failure(await (await Gateway.of(world.backend)).request(pickupURL), 410);
  const grants = await provider.kube.list(GRANTS);
  const own = grants.filter(({ spec }) => spec.identity.subject === sealedSubject(who));
  assert.deepEqual(own.map(({ metadata }) => metadata.name), [name], "one Grant, and one only");
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

/** Something that a caller does, in the course of which the gateway writes. */
interface Scenario {
  readonly name: string;
  /** What has happened before; what it gives is handed on. */
  prepare(who: string): Promise<string>;
  act(who: string, prepared: string): Promise<unknown>;
  /** The gateway's own writes; those of the issuer in between have a test of their own. */
  readonly writes: readonly string[];
  /** What must hold when a caller comes back after the crash; then everything works again. */
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

/** The points around those of all writes that the gateway made; the rest are the issuer's. */
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

Deno.test("POST /api/bind and pickups, killed at any write, leave nothing that a bind cannot mend", async (t) => {
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
  await t.step("the finalizer never went first", () => assert.deepEqual(world.violations, []));
});
