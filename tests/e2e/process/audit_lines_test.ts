import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { GRANTS, type KubeObject, LEASES, SECRETS } from "../../../common/api/resources.ts";
import { AUDIT_CODES } from "../../../common/log/audit_line.ts";
import {
  ANNOTATIONS,
  boundaryName,
  CLEANUP_FINALIZER,
  FIELD_MANAGERS,
  grantName,
  LABELS,
  tokenSecretName,
} from "../../../common/api/names.ts";
import { codesInSource, documentedCodes } from "../../support/programs/audit_table.ts";
import type { LogLine } from "../../support/programs/daemon.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import {
  cookiePair,
  Gateway,
  okJson,
  postJson,
  sessionKeys,
} from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { allowUser } from "../../support/planes/allow_user.ts";
import { grantFor, subjectOf, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { TestKonnector } from "../../support/worlds/test_konnector.ts";
import { configOf, submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());
const documented = await documentedCodes();
const keys = sessionKeys();

/** The audit lines of all processes so far. */
const trail: LogLine[] = [];

const REAPING = ["--enable-reaper", "--reaper-interval=1s", "--reaper-ttl=3s"];
const ALL_MODULES = ["--enable-apply", "--kubernetes-auth", "--leader-elect"];

/** Starts a gateway whose audit lines can be awaited. Adds them to the trail when it stops. */
async function start(mockPort: number, ...flags: string[]) {
  // The identity provider's address is part of the subject, so a restart must keep its port.
  const all = [...ALL_MODULES, `--oidc-mock-listen=127.0.0.1:${mockPort}`, ...flags];
  const gateway = await Gateway.start(plane, { flags: all, env: keys.env });
  const lines = () => gateway.backend.log.filter(({ code }) => code !== undefined);
  return {
    gateway,
    /** Waits for a line with this code and outcome, and with this Grant if given. */
    told: (code: string, outcome: string, grant?: string) =>
      eventually(
        `${code} ${outcome} is logged`,
        () =>
          lines().find((line) =>
            line["code"] === code && line["outcome"] === outcome &&
            (grant === undefined || line["grant"] === grant)
          ),
        { timeoutMs: 60_000 },
      ),
    async [Symbol.asyncDispose]() {
      if (await gateway.backend.stop() !== 0) throw new Error(gateway.backend.lines.join("\n"));
      trail.push(...lines());
      await gateway[Symbol.asyncDispose]();
    },
  };
}

Deno.test("xbind-backend logs an audit line for each event of", async (t) => {
  const mockPort = freePort();
  using provider = await TestProvider.of(plane);
  const { kube } = provider;
  let bundle: KubeObject[] = [];

  await t.step("requests", async () => {
    await using world = await start(mockPort);
    const { gateway, told } = world;
    await provider.define(WIDGETS);
    await provider.offerReady("widgets", [WIDGETS]);
    await provider.offer("unready", ["absent.example.org"]);

    const get = async (path: string, init?: RequestInit) => {
      const answer = await gateway.request(path, init);
      await answer.body?.cancel();
      return answer.headers.get("X-Request-Id") ?? "";
    };
    const { token } = await gateway.login();
    const { subject } = await gateway.read<{ subject: string }>(token, "/api/me");
    const login = await told("login", "ok");
    assert.equal(login["subject"], subject);
    assert.equal(login["source"], "127.0.0.1");

    const lost = await get("/api/auth/oidc/callback?code=a&state=b");
    assert.equal((await told("login", "INVALID_REQUEST"))["requestId"], lost);
    const { stateCookie, authorizationUrl } = await gateway.startLogin();
    const state = new URL(authorizationUrl).searchParams.get("state");
    await get(`/api/auth/oidc/callback?error=access_denied&state=${state}`, {
      headers: { Cookie: cookiePair(stateCookie) },
    });
    await told("login", "UNAUTHENTICATED");

    await get("/api/auth/logout", { headers: { Cookie: `xbind_session=${token}` } });
    assert.equal((await told("logout", "ok"))["subject"], subject);

    await get("/api/me", { headers: { Authorization: "Bearer not-a-token" } });
    await told("review", "UNAUTHENTICATED");

    const grant = grantName("widgets", subject);
    const bound = await gateway.bind(token, "widgets");
    const line = await told("bind", "ok");
    assert.deepEqual([line["subject"], line["export"], line["grant"]], [subject, "widgets", grant]);
    await told("grant.provisioned", "ok", grant);
    await (await gateway.tryBind(token, "absent")).body?.cancel();
    await told("bind", "EXPORT_NOT_FOUND");
    await (await gateway.tryBind(token, "unready")).body?.cancel();
    await told("bind", "EXPORT_NOT_READY");

    const headers = { Accept: "application/json", "X-Request-Id": "the-winner" };
    ({ bundle } = await okJson<{ bundle: KubeObject[] }>(
      await gateway.request(bound.pickupURL, { headers }),
    ));
    const picked = await told("pickup", "ok");
    assert.deepEqual([picked["requestId"], picked["grant"]], ["the-winner", grant]);
    const reuse = await get(bound.pickupURL);
    assert.equal((await told("pickup", "reused", grant))["requestId"], reuse);
    const issued = await kube.get(SECRETS, {
      name: tokenSecretName(grant),
      namespace: boundaryName(subject),
    });
    const issuedToken = atob(issued.data?.["token"] ?? "");
    await get("/api/me", { headers: { Authorization: `Bearer ${issuedToken}` } });
    const strayed = await told("issued-token", "UNAUTHENTICATED");
    assert.deepEqual([strayed["namespace"], strayed["account"]], [boundaryName(subject), grant]);
    assert.ok(!gateway.backend.lines.join("\n").includes(issuedToken));
    const later = await gateway.bind(token, "widgets");
    const { metadata } = await kube.get(GRANTS, { name: grant });
    const annotations = { [ANNOTATIONS.pickupExpiry]: "2001-01-01T00:00:00Z" };
    const { resourceVersion = "" } = metadata;
    const expired = { metadata: { resourceVersion, annotations } };
    await kube.mergePatch(GRANTS, { name: grant }, expired, FIELD_MANAGERS.installer);
    await get(later.pickupURL);
    await told("pickup", "expired", grant);
    await get(bound.pickupURL);
    await told("pickup", "unknown", grant);
    await get("/api/bundle/nonsense");
    await told("pickup", "malformed");

    await using consumer = await HostileApiServer.yielding();
    const apply = async (kubeconfig: string) => {
      const request = { kubeconfig, installKonnector: true };
      await (await gateway.as(token, "/api/apply", postJson(request))).body?.cancel();
    };
    await apply(consumer.kubeconfig());
    await told("apply", "ok");
    await apply(submitted(configOf(undefined, { exec: { command: "/bin/sh" } })));
    assert.match(String((await told("kubeconfig", "rejected"))["reason"]), /exec is not allowed/);
    await told("apply", "KUBECONFIG_REJECTED");
    await using broken = await HostileApiServer.start((_, socket) => void socket.destroy());
    await apply(broken.kubeconfig());
    await told("apply", "APPLY_FAILED");
  });

  await t.step("the issuer", async () => {
    await using world = await start(mockPort);
    const { told, gateway } = world;
    await told("leader", "acquired");
    const make = async (who: string, apis = [WIDGETS]) => {
      const sample = grantFor({ who, apis });
      return (await kube.create(GRANTS, sample, FIELD_MANAGERS.gateway)).metadata;
    };
    const unexported = await make("unexported", ["absent.example.org"]);
    const line = await told("grant.not-provisioned", "APINotExported", unexported.name);
    assert.deepEqual([line["subject"], line["source"]], [subjectOf("unexported"), "issuer"]);
    const revoked = await make("revoked");
    await told("grant.provisioned", "ok", revoked.name);
    const lease = { name: "held", namespace: boundaryName(subjectOf("revoked")) };
    await kube.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...lease,
        finalizers: ["example.org/hold"],
        labels: { [LABELS.managed]: "true" },
        annotations: { [ANNOTATIONS.connection]: revoked.name },
      },
    }, FIELD_MANAGERS.installer);
    await kube.delete(GRANTS, revoked);
    await told("grant.not-revoked", "LeftBehind", revoked.name);
    assert.match(String((await told("grant.revoked", "ok", revoked.name))["left"]), /held/);
    await kube.delete(GRANTS, unexported);

    const vanished = await make("vanished");
    await told("grant.provisioned", "ok", vanished.name);
    gateway.backend.signal("SIGSTOP");
    const { metadata } = await kube.get(GRANTS, vanished);
    assert.deepEqual(metadata.finalizers, [CLEANUP_FINALIZER]);
    const { resourceVersion = "" } = metadata;
    const bare = { metadata: { resourceVersion, finalizers: null } };
    await kube.mergePatch(GRANTS, vanished, bare, FIELD_MANAGERS.installer);
    await kube.delete(GRANTS, vanished);
    gateway.backend.signal("SIGCONT");
    await told("grant.vanished", "ok", vanished.name);
  });

  await t.step("the permissions of callers", async () => {
    const flags = ["--authorization=Kubernetes", "--authorization-revoke", "--reaper-interval=1s"];
    const names: string[] = [];
    for (let each = 0; each < 6; each++) {
      const sample = grantFor({ who: `lost-${each}`, apis: [WIDGETS] });
      names.push((await kube.create(GRANTS, sample, FIELD_MANAGERS.gateway)).metadata.name);
    }
    await using world = await start(mockPort, ...flags);
    const { token } = await world.gateway.login();
    await (await world.gateway.tryBind(token, "widgets")).body?.cancel();
    const refused = await world.told("access", "EXPORT_NOT_FOUND");
    assert.deepEqual([refused["verb"], refused["export"]], ["get", "widgets"]);
    await world.told("grant.unauthorized", "PermissionLost", names[0]);
    await world.told("authorization.hold", "holding");
    const metrics = await world.gateway.backend.addressOf("/metrics");
    const isHolding = async () =>
      /^xbind_authorization_holding 1$/m.test(await (await fetch(`${metrics}/metrics`)).text());
    await eventually("the metrics show the hold", isHolding);
    await allowUser(plane, "everybody", [{
      apiGroups: ["catalog.xbind.io"],
      resources: ["exports"],
      verbs: ["bind"],
    }]);
    const group = "--group=xbind:authenticated";
    await plane.kubectl(["create", "clusterrolebinding", "all", "--clusterrole=everybody", group]);
    await world.told("grant.authorized", "ok", names[0]);
    await world.told("authorization.hold", "released");
    await eventually("the metrics show its end", async () => !await isHolding());
    for (const name of names) await kube.delete(GRANTS, { name });
    await world.told("grant.revoked", "ok", names[5]);
  });

  await t.step("the leader", async () => {
    await using world = await start(mockPort);
    const line = await world.told("leader", "acquired");
    assert.ok(line["lease"] && line["identity"]);
    const key = { name: "backend.xbind.io", namespace: "default" };
    await eventually("another process holds the Lease", async () => {
      const { metadata: { resourceVersion = "" } } = await kube.get(LEASES, key);
      const patch = { metadata: { resourceVersion }, spec: { holderIdentity: "somebody" } };
      await kube.mergePatch(LEASES, key, patch, FIELD_MANAGERS.installer);
      return true;
    });
    assert.match(String((await world.told("leader", "lost"))["reason"]), /another process/);
    await kube.delete(LEASES, key);
  });

  await t.step("the reaper", async () => {
    using konnector = await TestKonnector.start(bundle, "a-cluster");
    {
      await using world = await start(mockPort, ...REAPING);
      const silent = await world.told("grant.stale", "NoLease");
      assert.ok(silent["since"] && silent["subject"]);
      await konnector.beat();
      await world.told("grant.fresh", "ok");
      await world.told("grant.stale", "LeaseExpired");
    }
    const flags = [...REAPING, "--reaper-revoke", "--reaper-delete-boundary"];
    await using world = await start(mockPort, ...flags);
    await world.told("grant.reaped", "LeaseExpired");
    await world.told("grant.revoked", "ok");
    const line = await world.told("boundary.reaped", "ok");
    assert.equal(line["boundary"], konnector.boundary);
  });

  await t.step("a reaper that holds back", async () => {
    await using world = await start(mockPort, ...REAPING, "--reaper-revoke");
    const metrics = await world.gateway.backend.addressOf("/metrics");
    const shown = async (name: string) => {
      const text = await (await fetch(`${metrics}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
    };
    assert.equal(await shown("xbind_reaper_holding"), 0);
    for (let each = 0; each < 6; each++) {
      const sample = grantFor({ who: `silent-${each}`, apis: [WIDGETS] });
      await kube.create(GRANTS, sample, FIELD_MANAGERS.gateway);
    }
    const line = await world.told("reaper.hold", "holding");
    assert.deepEqual([line["level"], line["silent"]], ["warn", 6]);
    await eventually("the metrics show the hold", async () => {
      return await shown("xbind_reaper_holding") === 1 &&
        await shown("xbind_grants_silent_together") === 6;
    });
    await plane.kubectl(["annotate", "grants", "--all", `${ANNOTATIONS.reap}=approved`]);
    await world.told("grant.reaped", "NoLease");
    await world.told("reaper.hold", "released");
    await eventually("the metrics show no hold", async () => {
      return await shown("xbind_reaper_holding") === 0;
    });
  });
});

Deno.test("every audit line has only the fields in docs/audit.md", () => {
  assert.ok(trail.length > 30);
  for (const line of trail) {
    const { code, outcome, source, requestId, level } = line;
    const entry = documented.get(String(code)) ?? assert.fail(`${code} is not documented`);
    assert.ok(entry.outcomes.includes(String(outcome)), `${code} ${outcome} is not documented`);
    assert.ok(["info", "warn"].includes(level));
    assert.ok(line["ts"] && typeof source === "string" && source !== "", JSON.stringify(line));
    assert.equal(entry.source === "request", requestId !== undefined);
    if (entry.source !== "request") assert.equal(source, entry.source);
    const known = ["level", "ts", "logger", "msg", "code", "outcome", "source", "requestId"];
    const more = Object.keys(line).filter((field) => ![...known, "subject"].includes(field));
    const extra = more.filter((field) => !entry.fields.includes(field));
    const allowed = code === "leader" ? ["transitions", "reason", "error"] : [];
    assert.deepEqual(extra.filter((field) => !allowed.includes(field)), [], JSON.stringify(line));
  }
});

Deno.test("every audit code was logged, is documented, and is in the source", async () => {
  const codes = Object.keys(AUDIT_CODES).sort();
  assert.deepEqual([...new Set(trail.map(({ code }) => String(code)))].sort(), codes);
  assert.deepEqual([...documented.keys()].sort(), codes);
  assert.deepEqual([...await codesInSource()].sort(), codes);
  for (const [code, { source }] of documented) {
    assert.equal(AUDIT_CODES[code as keyof typeof AUDIT_CODES], source, code);
  }
});
