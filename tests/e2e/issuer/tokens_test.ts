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
import { ensureToken, type TokenDeps, type TokenState } from "../../../server/issuer/token.ts";
import { issuerCaches } from "../../../server/issuer/issued_caches.ts";
import { exportCache, grantCache } from "../../../server/provider/caches.ts";
import { TokenSlots } from "../../../server/issuer/token_turns.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, tokenSecretName } from "../../../common/api/names.ts";
import { boundaryOf, customType, grantFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import { running } from "../../support/planes/kube.ts";

// Before any test, so that no test is charged with processes it does not end.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube, plane } = world;

const accountOf = (grant: Grant) => ({ name: grant.metadata.name, namespace: boundaryOf(grant) });
const secretOf = (grant: Grant) => ({
  name: tokenSecretName(grant.metadata.name),
  namespace: boundaryOf(grant),
});

/** While it is held, Kubernetes fills no Secret. */
async function tokenControllerPaused(): Promise<Disposable> {
  await plane.controllerManager.pause();
  return { [Symbol.dispose]: () => plane.controllerManager.resume() };
}

Deno.test("issuer() gives a new token when the account is another one", async (t) => {
  const grant = await world.ready(await world.grant({ who: "account" }));
  const account = accountOf(grant);
  const makeAnew = async () => {
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
    "because it was deleted": () => kube.delete(SERVICE_ACCOUNTS, account),
    "because somebody made it anew": makeAnew,
  };
  for (const [what, replaceAccount] of Object.entries(ways)) {
    await t.step(what, async () => {
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

Deno.test("issuer() lets few Secrets wait, then goes on with the Grant that a bind waits for", async () => {
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
      const waiting = await eventually("the others wait behind them", async () => {
        const found = (await kube.list(GRANTS))
          .filter((grant) => condition(grant, "Ready")?.message === behind);
        unfilled = await count() - already;
        return found.length === 40 - unfilled && found;
      });
      assert.ok(unfilled >= 4 && unfilled <= 20, `${unfilled} are unfilled`);
      const urgent = await world.grant({ who: "urgent", annotations });
      await world.unready(GRANTS, urgent, "Pending", new RegExp(behind));
      // Those that give up must not keep the turn of others.
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
  const urgentIs = made.indexOf(tokenSecretName(grantFor({ who: "urgent" }).metadata.name));
  // Grants that get their turn at the same time may overtake each other by a few.
  assert.equal(made.length, 38);
  assert.ok(
    urgentIs >= unfilled && urgentIs < unfilled + 5,
    `it was number ${urgentIs} of ${made.length}, after ${unfilled}`,
  );
});

Deno.test("issuer() finishes the Grant that a bind waits for before it begins the rest of a backlog", async () => {
  const wantedUntil = new Date(Date.now() + 60_000).toISOString();
  const backlog: Grant[] = [];
  const urgent = grantFor({ who: "hurry" }).metadata.name;
  const requests = await world.requestsDuring(async () => {
    world.backend.signal("SIGSTOP"); // so that all of it is there when the urgent one comes
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
  // Twenty workers had begun when it came, and turn to others while it waits for its token.
  assert.ok(
    ready > 0 && begun < 150,
    `${begun} of ${backlog.length} were begun before it was done`,
  );
});

Deno.test("ensureToken() makes an unfilled Secret anew after a minute, then less and less often", async () => {
  await world.stop(); // it would take back what no Grant asks for
  const grant = grantFor({ who: "patient" });
  const desired = grantObjects(grant, [], { issuerScope: "Cluster" });
  await kube.create(NAMESPACES, desired.boundary, FIELD_MANAGERS.issuer);
  const account = await kube.create(SERVICE_ACCOUNTS, desired.account, FIELD_MANAGERS.issuer);
  const { accounts, secrets } = issuerCaches({
    grants: grantCache(),
    exports: exportCache(),
  });
  await using _ = await running(secrets, kube);
  let now = 0;
  const deps: TokenDeps = {
    kube,
    caches: { accounts, secrets },
    slots: new TokenSlots(() => 20, () => false, () => {}),
    remakes: new Map(),
    now: () => now,
  };
  /** One look at that time after the Secret was made; gives the Secret that is there then. */
  const look = async (afterMs: number): Promise<[TokenState, Secret]> => {
    const present = await kube.find(SECRETS, secretOf(grant));
    now = Date.parse(present?.metadata.creationTimestamp ?? "") + afterMs;
    const signal = AbortSignal.timeout(10_000);
    const state = await ensureToken(deps, desired.tokenSecret, account, false, signal);
    const secret = await eventually("the cache knows it", async () => {
      const live = await kube.get(SECRETS, secretOf(grant));
      const { resourceVersion } = secrets.get(secretOf(grant))?.metadata ?? {};
      return live.metadata.resourceVersion === resourceVersion && live;
    });
    return [state, secret];
  };
  {
    using _ = await tokenControllerPaused();
    let [state, secret] = await look(0);
    assert.deepEqual(state, { filled: false, waitsFor: "its token", lookAgainMs: 60_000 });
    for (const patienceMs of [60_000, 120_000, 240_000, 300_000, 300_000]) {
      const [early, same] = await look(patienceMs - 1_000);
      assert.deepEqual(early, { filled: false, waitsFor: "its token", lookAgainMs: 1_000 });
      assert.equal(same.metadata.uid, secret.metadata.uid);
      [state, secret] = await look(patienceMs);
      assert.notEqual(secret.metadata.uid, same.metadata.uid, `made anew after ${patienceMs} ms`);
    }
  }
  await eventually("Kubernetes has filled it", async () => (await look(0))[0].filled);
  assert.equal(deps.remakes.size, 0);
});
