import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import {
  failure,
  Gateway,
  okJson,
  postJson,
  sessionKeys,
} from "../../support/worlds/gateway_world.ts";
import { accountToken, workspace } from "../../support/planes/kube.ts";

const plane = await sharedProvider();
/** No issuer: it would act on the Grants of all tests that share this provider. */
const FLAGS = ["--enable-issuer=false"];
/** Allows one request in a hundred seconds, so a second one only after the test. */
const ONE_EACH = "--rate-limit=0.01";

async function assertLimited(answer: Response): Promise<void> {
  assert.match(answer.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
  await failure(answer, 429);
}

Deno.test("--rate-limit answers 429 with Retry-After, and accepts requests again later", async () => {
  await using gateway = await Gateway.start(plane, { flags: [...FLAGS, "--rate-limit=2"] });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => gateway.request("/api/provider")),
  );
  const [fine = [], limited = []] = [200, 429].map((wanted) =>
    answers.filter(({ status }) => status === wanted)
  );
  assert.equal(fine.length + limited.length, 20);
  // The burst is two seconds' worth; a busy machine may have earned more while sending.
  assert.ok(fine.length >= 4 && limited.length >= 1, `${fine.length} passed`);
  for (const answer of limited) {
    assert.match(answer.headers.get("X-Request-Id") ?? "", /./);
    await assertLimited(answer);
  }
  for (const answer of fine) await okJson(answer);
  await eventually("requests pass again", async () => {
    await failure(await gateway.request("/api/bind", postJson({})), 401);
    return true;
  });
});

Deno.test("--rate-limit counts by identity, and by address without one", async (t) => {
  const { env, ...keys } = sessionKeys();
  const codec = await createSessionCodec({
    ...keys,
    sessionTtlMs: 60_000,
    now: () => new Date(),
  });
  const [ada, bob, cyd] = await Promise.all(
    ["ada", "bob", "cyd"].map((subject) => codec.sealSession({ subject })),
  );
  assert.ok(ada && bob && cyd);
  await using gateway = await Gateway.start(plane, { flags: [...FLAGS, ONE_EACH], env });

  await t.step("identities at one address have separate budgets", async () => {
    for (const token of [ada, bob]) {
      await okJson(await gateway.as(token, "/api/me"));
      await assertLimited(await gateway.as(token, "/api/me"));
    }
  });

  await t.step("an identity has one budget for all paths and credentials", async () => {
    const cookie = { headers: { Cookie: `xbind_session=${bob}` } };
    await assertLimited(await gateway.request("/api/me", cookie));
    await assertLimited(await gateway.request("/api/provider", cookie));
    await assertLimited(await gateway.as(bob, "/api/nothing"));
  });

  await t.step("invalid tokens use the budget of their address", async () => {
    await failure(await gateway.as("garbage", "/api/me"), 401);
    await assertLimited(await gateway.as("rubbish", "/api/me"));
    await assertLimited(await gateway.as(`${cyd}x`, "/api/provider"));
    await assertLimited(await gateway.request("/api/provider"));
    await assertLimited(await gateway.request("/api/nothing"));
  });

  await t.step("a session at that address is still served", async () => {
    await okJson(await gateway.as(cyd, "/api/me"));
    await assertLimited(await gateway.as(cyd, "/api/me"));
  });

  await t.step("probes are never refused", async () => {
    for (let count = 0; count < 3; count++) {
      assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
    }
  });
});

Deno.test("--rate-limit limits ServiceAccounts, and token reviews of invalid tokens", async () => {
  await using place = await workspace(plane, "rate-limit");
  const [ada, bob] = [
    await accountToken(place.kube, place.namespace, "ada"),
    await accountToken(place.kube, place.namespace, "bob"),
  ];
  const flags = [...FLAGS, ONE_EACH, "--kubernetes-auth"];
  await using gateway = await Gateway.start(plane, { flags });
  for (const token of [ada, bob]) {
    await okJson(await gateway.as(token, "/api/me"));
    await assertLimited(await gateway.as(token, "/api/me"));
  }
  await failure(await gateway.as("garbage", "/api/me"), 401);
  for (let count = 0; count < 5; count++) {
    await assertLimited(await gateway.as(`garbage-${count}`, "/api/me"));
  }
  await gateway.backend.logged("token not accepted");
  const reviews = gateway.backend.log.filter(({ msg }) => msg === "token not accepted");
  assert.equal(reviews.length, 1);
});
