import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  EXPORTS,
  type Grant,
  GRANTS,
  isReady,
  type KubeObject,
  type Secret,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { BindResult, Catalog, Identity } from "../../../common/api/wire.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import {
  ANNOTATIONS,
  boundaryName,
  FIELD_MANAGERS,
  grantName,
  tokenSecretName,
} from "../../../common/api/names.ts";
import { Backend } from "../../support/programs/backend.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import {
  failure,
  Gateway,
  okJson,
  postJson,
  sessionKeys,
} from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { accountToken, connect } from "../../support/planes/kube.ts";
import { requestsDuring } from "../../support/planes/requests_during.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";

const GEARS = "gears.example.org";
const QUIET_USER = "gateway-without-issuer";

/** Returns the bodies of the answers with 200, and checks that the others are refusals. */
async function outcomes<T>(answers: readonly Response[], refusal: number) {
  const good: T[] = [];
  for (const answer of answers) {
    if (answer.status === 200) good.push(await answer.json());
    else await failure(answer, refusal);
  }
  return good;
}

Deno.test("POST /api/bind and pickups work over replicas, without an issuer, and at shutdown", async (t) => {
  await using plane = await ownPlane({ auditLog: true });
  const keys = sessionKeys();
  const { env } = keys;
  await using issuing = await Gateway.start(plane, { env });
  const quiet = await plane.kubeconfigFor(QUIET_USER, ["system:masters"]);
  const without = { env, flags: ["--enable-issuer=false", "--enable-apply", "--kubernetes-auth"] };
  await using other = await Gateway.start(plane, { ...without, kubeconfig: quiet });
  const both = [issuing, other];
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  await provider.define(GEARS);
  await provider.offerReady("widgets", [WIDGETS]);
  for (const name of ["gears", "bolts", "nuts", "screws"]) await provider.offerReady(name, [GEARS]);
  await provider.offer("unready", ["absent.example.org"]);
  const { token } = await issuing.login();
  const { subject } = await other.read<Identity>(token, "/api/me");
  const codec = await createSessionCodec({ ...keys, sessionTtlMs: 60_000, now: () => new Date() });
  const grantOf = (exportName: string, of = subject) =>
    provider.kube.find(GRANTS, { name: grantName(exportName, of) });
  const waitingFor = (exportName: string, of = subject): Promise<Grant> =>
    eventually(`a bind of ${exportName} waits`, async () => {
      const grant = await grantOf(exportName, of);
      return grant?.metadata.annotations?.[ANNOTATIONS.wantedUntil] ? grant : undefined;
    });

  await t.step("200 binds of one identity at once share one Grant", async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => both[index % 2]?.tryBind(token, "widgets")),
    );
    const bound = await outcomes<BindResult>(answers as Response[], 200);
    assert.equal(bound.length, 200);
    assert.deepEqual([...new Set(bound.map(({ grant }) => grant))], [
      grantName("widgets", subject),
    ]);
    assert.equal(new Set(bound.map(({ pickupURL }) => pickupURL)).size, 200);
    assert.equal((await provider.kube.list(GRANTS)).length, 1);
  });

  await t.step("200 pickups of one URL at once deliver one bundle", async () => {
    const { pickupURL } = await issuing.bind(token, "widgets");
    const json = { headers: { Accept: "application/json" } };
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => both[index % 2]?.request(pickupURL, json)),
    );
    const picked = await outcomes<{ bundle: KubeObject[] }>(answers as Response[], 410);
    assert.deepEqual(picked.map(({ bundle }) => bundle.length), [3]);
  });

  await t.step("only GET consumes a pickup", async () => {
    const { pickupURL } = await other.bind(token, "widgets");
    for (const method of ["HEAD", "POST", "OPTIONS"]) {
      const answer = await issuing.request(pickupURL, { method });
      await answer.body?.cancel();
      assert.equal(answer.status, 405);
    }
    const answer = await issuing.request(pickupURL);
    await answer.body?.cancel();
    assert.equal(answer.status, 200);
  });

  await t.step("tokens of accounts in a boundary cannot sign in", async () => {
    const namespace = boundaryName(subject);
    const name = grantName("widgets", subject);
    const secret = await provider.kube.get(SECRETS, { name: tokenSecretName(name), namespace });
    const issued = atob(secret.data?.["token"] ?? "");
    const ofDefault = await accountToken(provider.kube, namespace, "default");
    const grants = await provider.kube.list(GRANTS);
    for (const [account, stray] of [[name, issued], ["default", ofDefault]] as const) {
      for (const path of ["/api/me", "/api/catalog", "/api/clusters", "/api/openapi.json"]) {
        await failure(await other.as(stray, path), 401, /a consumer's token does not sign in$/);
      }
      await failure(await other.tryBind(stray, "gears"), 401);
      const apply = postJson({ kubeconfig: "?", export: "gears" });
      await failure(await other.as(stray, "/api/apply", apply), 401);
      const logged = await eventually("the log names the account", () => {
        const lines = other.backend.log.filter((line) => line["account"] === account);
        return lines.length === 6 && lines;
      });
      assert.ok(logged.every(({ code }) => code === "issued-token"));
      assert.deepEqual([...new Set(logged.map((line) => line["namespace"]))], [namespace]);
    }
    assert.equal((await provider.kube.list(GRANTS)).length, grants.length);
  });

  await t.step("a pickup expires after --pickup-ttl", async () => {
    const flags = [...without.flags, "--pickup-ttl=1ms"];
    await using brief = await Gateway.start(plane, { env, flags });
    const { pickupURL, expiresAt } = await brief.bind(token, "widgets");
    await eventually("it has expired", () => Date.now() > Date.parse(expiresAt));
    await failure(await issuing.request(pickupURL), 410);
    await eventually("the log has the reason", () => {
      return issuing.backend.log.some(({ outcome }) => outcome === "expired");
    });
  });

  await t.step("--external-ca-file sets the CA of issued kubeconfigs", async () => {
    const file = join(plane.dir, "external-ca.pem");
    const pem = (await createAuthority("the next CA")).cert + plane.caPem;
    await Deno.writeTextFile(file, pem);
    const flags = [...without.flags, `--external-ca-file=${file}`];
    await using withCa = await Gateway.start(plane, { env, flags });
    const accept = { headers: { Accept: "application/json" } };
    const pickUp = async (gateway: Gateway) => {
      const { pickupURL } = await gateway.bind(token, "widgets");
      const { bundle } = await okJson<{ bundle: Secret[] }>(
        await gateway.request(pickupURL, accept),
      );
      const { stringData = {}, data = {} } = bundle[0] ?? assert.fail("no Secret");
      return stringData["kubeconfig"] ?? atob(data["kubeconfig"] ?? "");
    };
    const caOf = (kubeconfig: string) =>
      atob(parse(kubeconfig).clusters[0].cluster["certificate-authority-data"]);
    assert.equal(caOf(await pickUp(other)).trim(), plane.caPem.trim());
    const kubeconfig = await pickUp(withCa);
    assert.equal(caOf(kubeconfig), pem);
    await Deno.writeTextFile(join(plane.dir, "issued.yaml"), kubeconfig);
    using consumer = await connect(join(plane.dir, "issued.yaml"));
    await consumer.kube.list(customType(WIDGETS));
  });

  await t.step("an unbindable Export is refused, an invalid name without API calls", async () => {
    for (const gateway of both) {
      await failure(await gateway.tryBind(token, "unready"), 502, /"unready": it is not Ready$/);
      await failure(await gateway.tryBind(token, "absent"), 404, /^Cannot find Export "absent"$/);
    }
    using asQuiet = await connect(quiet);
    const seen = await requestsDuring(plane, { kube: asQuiet.kube, user: QUIET_USER }, async () => {
      for (const name of ["Upper", "../grants", "a b", "x".repeat(300)]) {
        await failure(await other.tryBind(token, name), 404);
        const path = `/api/catalog/${encodeURIComponent(name)}/instances`;
        await failure(await other.as(token, path), 404);
      }
      await failure(await other.request("/api/bundle/Li4vc2VjcmV0cw.x"), 410);
    });
    assert.deepEqual(seen.map(({ requestURI }) => requestURI), []);
    assert.equal(await grantOf("unready"), undefined);
  });

  await t.step("a bind after the Export changed waits for the new rights", async () => {
    const found = await provider.kube.get(EXPORTS, { name: "widgets" });
    const apis = [{ name: WIDGETS }, { name: GEARS }];
    const changed = { ...found, spec: { ...found.spec, apis } };
    await provider.kube.update(EXPORTS, changed, FIELD_MANAGERS.installer);
    await eventually("the Export is Ready again", async () => {
      return isReady(await provider.kube.get(EXPORTS, { name: "widgets" }));
    });
    const { pickupURL } = await other.bind(token, "widgets");
    const bundle = objectsIn(await (await issuing.request(pickupURL)).text());
    assert.deepEqual((bundle[2] as KubeObject & { spec: { apis: object[] } }).spec.apis, apis);
    using konnector = await TestKonnector.start(bundle, "consumer");
    await konnector.kube.list(customType(GEARS));
  });

  const { pickupURL: withoutSecret } = await other.bind(token, "widgets");
  const { pickupURL: whileStopping } = await other.bind(token, "screws");
  assert.equal(await issuing.backend.stop(), 0);
  const slow = other.tryBind(token, "gears");
  const config = new TextEncoder().encode(await Deno.readTextFile(plane.adminKubeconfig));
  const kubeconfig = config.toBase64();
  const slowApply = other.as(token, "/api/apply", postJson({ export: "gears", kubeconfig }));

  await t.step("a pickup without credentials answers 502, and is consumed", async () => {
    const name = tokenSecretName(grantName("widgets", subject));
    await provider.kube.delete(SECRETS, { name, namespace: boundaryName(subject) });
    await failure(await other.request(withoutSecret), 502, /^Cannot assemble the bundle /);
    await failure(await other.request(withoutSecret), 410);
  });

  await t.step("a bind ends when its caller disconnects", async () => {
    const gone = new AbortController();
    const headers = { Authorization: `Bearer ${token}` };
    const body = JSON.stringify({ export: "nuts" });
    const { signal } = gone;
    const request = other.request("/api/bind", { method: "POST", headers, body, signal });
    await waitingFor("nuts");
    gone.abort();
    await assert.rejects(request, { name: "AbortError" });
    const line = await eventually("the wait ended", () => {
      return other.backend.log.find(({ code, export: name }) => code === "bind" && name === "nuts");
    }, { timeoutMs: 15_000 });
    assert.equal(line["outcome"], "UNAVAILABLE");
  });

  await t.step("SIGTERM ends waiting binds at once, and the process 3 seconds later", async () => {
    await using stopping = await Gateway.start(plane, without);
    const people = ["ada", "bob", "cyd", "dan", "eve"].map((who) => `test#${who}`);
    const sessions = await Promise.all(people.map((who) => codec.sealSession({ subject: who })));
    const waits = sessions.map((session) => stopping.tryBind(session, "bolts"));
    await Promise.all(people.map((who) => waitingFor("bolts", who)));
    const start = performance.now();
    stopping.backend.signal("SIGTERM");
    for (const answer of await Promise.all(waits)) {
      assert.match(answer.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
      await failure(answer, 503, /this gateway is stopping/);
    }
    const answered = performance.now() - start;
    // Load balancers send requests for some more seconds, so they are still served.
    assert.equal(await (await stopping.request("/api/healthz")).text(), "ok");
    await stopping.read<Catalog>(token, "/api/catalog");
    const pickup = await stopping.request(whileStopping);
    assert.equal(objectsIn(await pickup.text()).length, 3);
    const late = await stopping.tryBind(token, "bolts");
    assert.ok(late.headers.has("Retry-After"));
    await failure(late, 503);
    assert.equal(await stopping.backend.ended(), 0);
    const ended = performance.now() - start;
    assert.ok(answered < 2_900, `answered after ${answered} ms`);
    assert.ok(ended >= 2_900 && ended < 10_000, `ended after ${ended} ms`);
  });

  await t.step(
    "a bind and an apply answer 504 without an issuer, and work once it runs",
    async () => {
      await failure(await slow, 504, /did not become Ready in time; try again$/);
      await failure(await slowApply, 504, /did not become Ready in time; try again$/);
      const left = await grantOf("gears");
      assert.ok(left && !isReady(left));
      await using issuer = await Backend.start(plane, { flags: ["--enable-gateway=false"] });
      const bound = await other.bind(token, "gears");
      assert.equal(bound.grant, left.metadata.name);
      assert.equal((await grantOf("gears"))?.metadata.uid, left.metadata.uid);
      const pickup = await other.request(bound.pickupURL, {
        headers: { Accept: "application/json" },
      });
      assert.equal((await okJson<{ bundle: KubeObject[] }>(pickup)).bundle.length, 3);
      assert.equal(await issuer.stop(), 0);
    },
  );
});
