import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  condition,
  type Grant,
  GRANTS,
  isReady,
  NAMESPACES,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import { grantObjects } from "../../../server/issuer/grant_objects.ts";
import { NotYet } from "../../../server/issuer/grant_status.ts";
import { putToken, type TokenDeps } from "../../../server/issuer/token.ts";
import { issuerCaches } from "../../../server/issuer/issued_caches.ts";
import { exportCache, grantCache } from "../../../server/provider/caches.ts";
import { TokenTurns } from "../../../server/issuer/token_turns.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, tokenSecretName } from "../../../common/api/names.ts";
import { boundaryOf, customType, grantFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import { running } from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube, plane } = world;

const accountOf = (grant: Grant) => ({ name: grant.metadata.name, namespace: boundaryOf(grant) });
const secretOf = (grant: Grant) => ({
  name: tokenSecretName(grant.metadata.name),
  namespace: boundaryOf(grant),
});

/** Stops Kubernetes from filling token Secrets until it is disposed. */
async function tokenControllerPaused(): Promise<Disposable> {
  await plane.controllerManager.pause();
  return { [Symbol.dispose]: () => plane.controllerManager.resume() };
}

Deno.test("issuer() issues a new token when the account is replaced", async (t) => {
  const grant = await world.ready(await world.grant({ who: "account" }));
  const account = accountOf(grant);
  const recreate = async () => {
    world.backend.signal("SIGSTOP");
    try {
      const { metadata: { name, namespace = "", labels = {} } } = await kube
        .get(SERVICE_ACCOUNTS, account);
      await kube.delete(SERVICE_ACCOUNTS, account);
      await world.create(SERVICE_ACCOUNTS, { metadata: { name, namespace, labels } });
    } finally {
      world.backend.signal("SIGCONT");
    }
  };
  const ways: Record<string, () => Promise<unknown>> = {
    "it was deleted": () => kube.delete(SERVICE_ACCOUNTS, account),
    "it was recreated by hand": recreate,
  };
  for (const [name, replaceAccount] of Object.entries(ways)) {
    await t.step(name, async () => {
      const uids = () =>
        Promise.all([
          kube.find(SERVICE_ACCOUNTS, account),
          kube.find(SECRETS, secretOf(grant)),
        ].map(async (found) => (await found)?.metadata.uid));
      const before = await uids();
      await replaceAccount();
      await eventually("account and Secret are new", async () => {
        return (await uids()).every((uid, index) => uid && uid !== before[index]);
      });
      await world.ready(grant);
      using issued = await world.issued(grant);
      await eventually("the new token works", () => issued.kube.list(customType(WIDGETS)));
    });
  }
});

Deno.test("issuer() lets at most 20 Secrets wait, then serves the Grant that a bind waits for", async () => {
  const count = async () => (await kube.list(SECRETS, { labelSelector: LABELS.grant })).length;
  const already = await count();
  const wantedUntil = new Date(Date.now() + 60_000).toISOString();
  const annotations = { [ANNOTATIONS.wantedUntil]: wantedUntil };
  let unfilled = 0;
  const requests = await world.requestsDuring(async () => {
    {
      using _ = await tokenControllerPaused();
      for (let index = 0; index < 40; index++) {
        await world.grant({ who: `burst-${index % 3}`, exportName: `burst-${index}` });
      }
      const behind = "Waiting for its token, behind those of other Grants";
      const waiting = await eventually("the other Grants wait for their turn", async () => {
        const found = (await kube.list(GRANTS))
          .filter((grant) => condition(grant, "Ready")?.message === behind);
        unfilled = await count() - already;
        return found.length === 40 - unfilled && found;
      });
      assert.ok(unfilled >= 4 && unfilled <= 20, `${unfilled} are unfilled`);
      const urgent = await world.grant({ who: "urgent", annotations });
      await world.unready(GRANTS, urgent, "Pending", new RegExp(behind));
      // Deleted Grants must not take a turn.
      for (const { metadata } of waiting.slice(0, 3)) {
        await kube.delete(GRANTS, { name: metadata.name });
      }
      assert.equal(await count(), already + unfilled);
    }
    await eventually("all are Ready", async () => (await kube.list(GRANTS)).every(isReady));
  });
  const made = requests.filter(({ verb, objectRef }) =>
    verb === "create" && objectRef?.resource === "secrets"
  ).map(({ objectRef }) => objectRef?.name);
  const urgentIndex = made.indexOf(tokenSecretName(grantFor({ who: "urgent" }).metadata.name));
  // Grants that get their turn at the same time may swap places.
  assert.equal(made.length, 38);
  assert.ok(
    urgentIndex >= unfilled && urgentIndex < unfilled + 5,
    `the urgent one was number ${urgentIndex} of ${made.length}, after ${unfilled}`,
  );
});

Deno.test("issuer() provisions the Grant that a bind waits for before the rest of a backlog", async () => {
  const wantedUntil = new Date(Date.now() + 60_000).toISOString();
  const backlog: Grant[] = [];
  const urgent = grantFor({ who: "hurry" }).metadata.name;
  const requests = await world.requestsDuring(async () => {
    world.backend.signal("SIGSTOP"); // so that it finds all Grants at once
    try {
      for (let index = 0; index < 200; index++) {
        backlog.push(await world.grant({ who: "backlog", exportName: `backlog-${index}` }));
      }
      const annotations = { [ANNOTATIONS.wantedUntil]: wantedUntil };
      backlog.push(await world.grant({ who: "hurry", annotations }));
    } finally {
      world.backend.signal("SIGCONT");
    }
    for (const grant of backlog) await world.ready(grant);
  });
  const ready = requests.findLastIndex(({ objectRef }) =>
    objectRef?.name === urgent && objectRef.subresource === "status"
  );
  const begun =
    requests.slice(0, ready).filter(({ verb, objectRef }) =>
      verb === "create" && objectRef?.resource === "serviceaccounts"
    ).length;
  // Twenty workers begin others first, and go on with others while the token is pending.
  assert.ok(
    ready > 0 && begun < 150,
    `${begun} of ${backlog.length} were begun before the urgent one was done`,
  );
});

Deno.test("putToken() recreates a Secret that is unfilled after two minutes", async () => {
  await world.stop(); // it would delete objects without a Grant
  const grant = grantFor({ who: "patient" });
  const wanted = grantObjects(grant, [], { issuerScope: "Cluster" });
  await kube.create(NAMESPACES, wanted.boundary, FIELD_MANAGERS.issuer);
  await kube.create(SERVICE_ACCOUNTS, wanted.account, FIELD_MANAGERS.issuer);
  const caches = issuerCaches({ grants: grantCache(), exports: exportCache() });
  await using _accounts = await running(caches.accounts, kube);
  await using _secrets = await running(caches.secrets, kube);
  let nowMs = 0;
  const now = () => nowMs;
  const tokens = new TokenTurns({ caches, now, wake: () => {} });
  const deps: TokenDeps = { kube, caches, tokens, now };
  /** Calls putToken() at this age of the Secret; returns its NotYet, if any, and the Secret. */
  const putAfter = async (afterMs: number): Promise<[NotYet | undefined, Secret]> => {
    const present = await kube.find(SECRETS, secretOf(grant));
    nowMs = Date.parse(present?.metadata.creationTimestamp ?? "") + afterMs;
    const signal = AbortSignal.timeout(10_000);
    const notYet = await putToken(deps, grant, wanted.tokenSecret, signal).catch((error) => {
      assert.ok(error instanceof NotYet, `${error}`);
      return error;
    });
    const secret = await eventually("the cache has it", async () => {
      const live = await kube.get(SECRETS, secretOf(grant));
      const { resourceVersion } = caches.secrets.get(secretOf(grant))?.metadata ?? {};
      return live.metadata.resourceVersion === resourceVersion && live;
    });
    return [notYet ?? undefined, secret];
  };
  {
    using _ = await tokenControllerPaused();
    let [notYet, secret] = await putAfter(0);
    assert.deepEqual([notYet?.waitsFor, notYet?.lookAgainMs], ["its token", 120_000]);
    for (let times = 0; times < 3; times++) {
      const [early, same] = await putAfter(119_000);
      assert.deepEqual([early?.waitsFor, early?.lookAgainMs], ["its token", 1_000]);
      assert.equal(same.metadata.uid, secret.metadata.uid);
      [notYet, secret] = await putAfter(120_000);
      assert.deepEqual([notYet?.waitsFor, notYet?.lookAgainMs], ["its token", 120_000]);
      assert.notEqual(secret.metadata.uid, same.metadata.uid, "recreated");
    }
  }
  await eventually("the Secret is filled", async () => (await putAfter(0))[0] === undefined);
});
