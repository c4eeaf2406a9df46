import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Catalog, Clusters, Identity, Instances } from "../../../common/api/wire.ts";
import { ownPlane, sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { failure, Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { objectsIn } from "../../support/worlds/test_konnector.ts";

const shared = await sharedProvider();
const VIEWS = ["/api/catalog", "/api/clusters", "/api/catalog/widgets/instances"];
/** Details of the provider that callers must not see. */
const INTERNAL = /127\.0\.0\.1|https?:|ECONN|refused/;

Deno.test("the gateway survives an outage of its provider", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS]);
  const { token } = await gateway.login();
  const { pickupURL } = await gateway.bind(token, "widgets");
  const views: unknown[] = [];
  for (const path of VIEWS) {
    views.push(await gateway.read<Catalog | Clusters | Instances>(token, path));
  }

  await plane.apiServer.kill();

  await t.step("views are served from the cache for a while, with Age", async () => {
    for (const [index, path] of VIEWS.entries()) {
      const answer = await eventually(`${path} has an age`, async () => {
        const found = await gateway.as(token, path);
        if (found.headers.has("Age")) return found;
        await found.body?.cancel();
      });
      assert.match(answer.headers.get("Age") ?? "", /^\d+$/);
      assert.deepEqual(await okJson(answer), views[index]);
    }
  });

  await t.step("binds and pickups are 502, without details of the provider", async () => {
    const failed = await Promise.all([
      gateway.tryBind(token, "widgets"),
      gateway.tryBind(token, "absent"),
      gateway.request(pickupURL),
      gateway.as(token, "/api/catalog/absent/instances"),
    ]);
    for (const answer of failed) assert.doesNotMatch(await failure(answer, 502), INTERNAL);
  });

  await t.step("views are 502 after a while", async () => {
    for (const path of VIEWS) {
      const message = await eventually(`${path} is refused`, async () => {
        return await failure(await gateway.as(token, path), 502);
      });
      assert.doesNotMatch(message, INTERNAL);
    }
  });

  await t.step("healthz, provider, login and me still work", async () => {
    assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
    await okJson(await gateway.request("/api/provider"));
    await gateway.read<Identity>((await gateway.login()).token, "/api/me");
  });

  await plane.apiServer.start();

  await t.step("everything works again soon after the outage", async () => {
    for (const [index, path] of VIEWS.entries()) {
      const answer = await eventually(`${path} is current`, async () => {
        const found = await gateway.as(token, path);
        const view = await okJson(found);
        return !found.headers.has("Age") && { view };
      }, { timeoutMs: 15_000 });
      assert.deepEqual(answer.view, views[index]);
    }
    // The failed pickup did not use up the URL.
    const pickUp = async (url: string) => objectsIn(await (await gateway.request(url)).text());
    assert.equal((await pickUp(pickupURL)).length, 3);
    const bound = await gateway.bind(token, "widgets");
    assert.equal((await pickUp(bound.pickupURL)).length, 3);
  });
});

Deno.test("a failed live call starts an outage, though every watch is open", async (t) => {
  await using proxy = await FaultProxy.start(shared);
  await using gateway = await Gateway.start(shared, {
    flags: ["--enable-issuer=false"],
    kubeconfig: await proxy.kubeconfig(),
  });
  const { token } = await gateway.login();
  const isCurrent = async (path: string) => {
    const answer = await gateway.as(token, path);
    await okJson(answer);
    return !answer.headers.has("Age");
  };
  const views = ["/api/catalog", "/api/clusters"];
  for (const path of views) assert.ok(await isCurrent(path));

  proxy.faults = ({ isWatch }) => isWatch ? undefined : { kind: "resetBefore" };
  for (const path of views) assert.ok(await isCurrent(path), "the outage is not known yet");

  await t.step("views have an Age from the first failed call on", async () => {
    await failure(await gateway.tryBind(token, "absent"), 502);
    for (const path of views) assert.equal(await isCurrent(path), false);
  });

  await t.step("views are 502 after a while", async () => {
    for (const path of views) {
      await eventually(`${path} is refused`, async () => {
        return await failure(await gateway.as(token, path), 502, /cannot be reached$/);
      });
    }
  });

  proxy.faults = () => undefined;

  await t.step("views are current again once calls succeed", async () => {
    for (const path of views) {
      await eventually(`${path} is current`, () => isCurrent(path), { timeoutMs: 10_000 });
    }
    const broken = gateway.backend.log.filter(({ msg }) => msg === "a watch broke");
    assert.deepEqual(broken, []);
  });
});

Deno.test("a pickup is 502 if the provider is too slow", async () => {
  await using plane = await ownPlane();
  await using proxy = await FaultProxy.start(plane);
  await using gateway = await Gateway.start(plane, { kubeconfig: await proxy.kubeconfig() });
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS]);
  const { token } = await gateway.login();
  const { pickupURL } = await gateway.bind(token, "widgets");
  // Each call is within its timeout, but all of them together are not.
  proxy.faults = ({ isWatch, path }) =>
    !isWatch && path.includes("/grants/") ? { kind: "delay", ms: 12_000 } : undefined;
  await failure(await gateway.request(pickupURL), 502, /^Cannot pick up the bundle: /);
});
