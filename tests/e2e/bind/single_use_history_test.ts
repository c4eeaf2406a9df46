import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { sleep } from "../../../common/time/wait.ts";
import {
  type BindRecord,
  type DeliveryRecord,
  impossibilities,
} from "../../support/programs/pickup_history.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { TwoGateways } from "../../support/worlds/two_gateways.ts";

const LASTS_MS = everyDayOrSoak(30_000, 600_000);
const TTL_MS = 1_500;
const PEOPLE = 4;
/** A gateway is killed in this interval, and the API server with every fourth of them. */
const KILL_EVERY_MS = 2_500;
const API_SERVER_EVERY = 4;
/** A slow machine takes longer for them. */
const LEAST_KILLS = 5;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await TwoGateways.start(`--pickup-ttl=${TTL_MS}ms`);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { apiServer } = world.issuer.plane;

const binds: BindRecord[] = [];
const deliveries: DeliveryRecord[] = [];
const refusals = new Map<number, number>();

const anyOf = (count: number): number => Math.floor(Math.random() * count);

async function bind(who: string): Promise<string | undefined> {
  const startedAt = Date.now();
  const bound = await world.tryBind(who, anyOf(2));
  if (!bound) return undefined;
  const { grant, pickupURL, expiresAt } = bound;
  const expiry = Date.parse(expiresAt);
  binds.push({ grant, token: pickupURL, startedAt, endedAt: Date.now(), expiresAt: expiry });
  return pickupURL;
}

async function pickUp(token: string): Promise<void> {
  const startedAt = Date.now();
  const { status } = await world.pickUp(token, anyOf(2));
  if (status === 200) deliveries.push({ token, startedAt, endedAt: Date.now() });
  else refusals.set(status, (refusals.get(status) ?? 0) + 1);
}

const together = (times: number, run: () => Promise<unknown>) =>
  Promise.all(Array.from({ length: times }, run));

/** Ways to use a new token; `earlier` are the tokens before it. */
const HABITS: readonly ((who: string, token: string, earlier: readonly string[]) => unknown)[] = [
  (_who, token) => pickUp(token),
  (_who, token) => together(3, () => pickUp(token)),
  (who, token) => Promise.all([pickUp(token), bind(who), pickUp(token)]),
  async (who, token) => {
    await bind(who);
    await pickUp(token);
  },
  async (_who, token) => {
    await sleep(TTL_MS + anyOf(100));
    await together(2, () => pickUp(token));
  },
  async (_who, token, earlier) => {
    await pickUp(token);
    const any = earlier[anyOf(earlier.length)];
    if (any) await pickUp(any);
  },
];

async function live(who: string, isOver: () => boolean): Promise<void> {
  const earlier: string[] = [];
  while (!isOver()) {
    const token = await bind(who);
    if (!token) {
      await sleep(50);
      continue;
    }
    await HABITS[anyOf(HABITS.length)]?.(who, token, earlier);
    earlier.push(token);
  }
}

async function breakThings(until: number): Promise<{ gateways: number; apiServers: number }> {
  const counts = { gateways: 0, apiServers: 0 };
  while (Date.now() < until || counts.gateways < LEAST_KILLS) {
    await sleep(KILL_EVERY_MS);
    const site = world.sites[counts.gateways++ % 2 ? 1 : 0];
    await site.kill();
    if (counts.gateways % API_SERVER_EVERY === 0) {
      counts.apiServers++;
      await apiServer.kill();
      await apiServer.start();
    }
    await site.succeed();
  }
  return counts;
}

Deno.test(`pickups are single-use over ${LASTS_MS / 1_000} s of binds, kills and restarts`, async () => {
  const until = Date.now() + LASTS_MS;
  let isOver = false;
  const people = Array.from(
    { length: PEOPLE },
    (_, index) => live(`person-${index}`, () => isOver),
  );
  const broken = await breakThings(until);
  isOver = true;
  await Promise.all(people);
  assert.deepEqual(impossibilities({ binds, deliveries }), []);
  assert.ok(broken.apiServers >= 1, JSON.stringify(broken));
  assert.ok(deliveries.length >= LASTS_MS / 2_000, `${deliveries.length} were delivered`);
  assert.ok((refusals.get(410) ?? 0) >= LASTS_MS / 2_000, JSON.stringify([...refusals]));
  assert.ok([...refusals.keys()].every((status) => [0, 410, 502].includes(status)));
  await eventually("the gateway works again", () => world.tryBind("person-0", 0));
  assert.ok(await world.everyBundleWorks() >= 1);
});
