import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CliUser } from "../../support/programs/cli.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { accountToken, workspace } from "../../support/planes/kube.ts";
import { browse, isLoopbackEnd } from "../../support/peers/scripted_browser.ts";

const JANE = "jane.doe@example.com";
const NEVER = ["--no-browser"];

/** Without an issuer, since tests that share the provider make Grants of their own. */
const NO_ISSUER = { flags: ["--enable-issuer=false"] };

/** Returns the redirect of a printed login URL. */
const redirectIn = (loginUrl: string): URL =>
  new URL(new URL(loginUrl).searchParams.get("redirect") ?? "");

Deno.test("kubectl bind login", async (t) => {
  await using gateway = await Gateway.start(await sharedProvider(), NO_ISSUER);
  const { url } = gateway;
  const { token: otherToken } = await gateway.login();

  await t.step("ends in the browser, and saves the session with mode 0600", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", `${url}/api/`, ...NEVER]);
    const printed = await login.firstLine();
    assert.equal(printed.split("?")[0], `${url}/api/auth/oidc/login`);
    const redirect = redirectIn(printed);
    assert.match(redirect.href, /^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}$/);

    const page = await browse(printed);
    assert.equal(page.status, 200);
    assert.equal(page.url.pathname, redirect.pathname);
    assert.match(page.text, /You are logged in.*You may close this page/s);
    const { code, stdout, stderr } = await login.ended();
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `${printed}\n`, "stdout has only the URL");
    assert.match(stderr, new RegExp(`Logged in to .* \\(${url}\\) as ${JANE}`));

    const token = page.url.searchParams.get("token") ?? "";
    assert.deepEqual(await user.savedConfig(), { current: url, servers: { [url]: { token } } });
    assert.equal((Deno.statSync(user.configFile).mode ?? 0) & 0o777, 0o600);
    assert.match(await user.output(["whoami"]), new RegExp(`^Name: +${JANE}$`, "m"));
    for (const text of [stdout, stderr]) assert.equal(text.includes(token), false);
  });

  await t.step("shows a last page that loads nothing and clears the address bar", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", url, ...NEVER]);
    const { headers, text } = await browse(await login.firstLine());
    assert.equal((await login.ended()).code, 0);
    const policy = headers.get("Content-Security-Policy") ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[^ ]+'; style-src 'sha256-/);
    assert.equal(headers.get("Cache-Control"), "no-store");
    assert.equal(headers.get("Referrer-Policy"), "no-referrer");
    const [script = ""] = /(?<=<script>).*(?=<\/script>)/s.exec(text) ?? [];
    assert.match(script, /history\.replaceState\(/);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
    assert.ok(policy.includes(`'sha256-${new Uint8Array(digest).toBase64()}'`));
    assert.doesNotMatch(text, /\b(?:src|href|action)=|url\(|@import/);
  });

  await t.step("ignores every request except its own redirect", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", url, ...NEVER]);
    const printed = await login.firstLine();
    const { origin, pathname } = redirectIn(printed);
    const wrong: [path: string, method: string][] = [
      [`/?token=${otherToken}`, "GET"],
      [`/favicon.ico`, "GET"],
      [`${pathname}/?token=${otherToken}`, "GET"],
      [`${pathname}x?token=${otherToken}`, "GET"],
      [`${pathname.slice(0, -1)}?token=${otherToken}`, "GET"],
      [pathname, "GET"],
      [`${pathname}?token=`, "GET"],
      [`${pathname}?token=${otherToken}`, "POST"],
      [`${pathname}?token=${otherToken}`, "HEAD"],
      [`${pathname}?token=${otherToken}`, "OPTIONS"],
    ];
    for (const [path, method] of wrong) {
      const answer = await fetch(origin + path, { method });
      assert.equal(`${answer.status} ${await answer.text()}`, "404 ", `${method} ${path}`);
    }
    const forged = await fetch(`${origin}${pathname}?token=${"x".repeat(40)}`);
    assert.equal(forged.status, 401);
    assert.match(await forged.text(), /You are not logged in/);
    assert.equal((await browse(printed)).status, 200);
    assert.equal((await login.ended()).code, 0);
  });

  await t.step("accepts a pasted URL if the browser cannot reach the listener", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", url, ...NEVER]);
    const printed = await login.firstLine();
    const { url: last } = await browse(printed, isLoopbackEnd);
    await login.type(`\n${printed}\nno\n`);
    await login.said(/contains no token.*contains no token/s);
    await login.type(`${"y".repeat(50)}\n`);
    await login.said(/is not a gateway session/);
    const [header] = otherToken.split(".");
    await login.type(`${header}..aXY.c2VhbGVk.dGFn\n`);
    await login.said(/does not accept that session/);
    await login.type(`${last.href}\n`);
    const { code, stderr } = await login.ended();
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`as ${JANE}`));
  });

  await t.step("accepts a pasted token, also from a pipe", async () => {
    await using user = await CliUser.create();
    const result = await user.run(["login", url, ...NEVER], { stdin: otherToken });
    assert.equal(result.code, 0, result.stderr);
    assert.deepEqual(await user.savedConfig(), {
      current: url,
      servers: { [url]: { token: otherToken } },
    });
  });

  await t.step("continues when stdin ends", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", url, ...NEVER], { stdin: "" });
    assert.equal((await browse(await login.firstLine())).status, 200);
    assert.equal((await login.ended()).code, 0);
  });

  await t.step("saves both sessions of two parallel logins", async () => {
    await using user = await CliUser.create();
    const port = new URL(url).port;
    const servers = [url, `http://localhost:${port}`];
    const logins = servers.map((server) => user.start(["login", server, ...NEVER]));
    for (const login of logins) assert.equal((await browse(await login.firstLine())).status, 200);
    for (const login of logins) assert.equal((await login.ended()).code, 0);
    const { servers: saved } = await user.savedConfig() as { servers: object };
    assert.deepEqual(Object.keys(saved).sort(), servers.toSorted());
    assert.match(await user.output(["whoami", "--server", servers[1] ?? ""]), /localhost/);

    const { stderr } = await user.run(["logout", "--server", url]);
    assert.match(stderr, new RegExp(`Logged out of ${url}`));
    assert.equal((await user.run(["catalog", "--server", url])).code, 3);
    assert.match((await user.run(["logout", "--all"])).stderr, /Logged out of http:\/\/localhost/);
    assert.match((await user.run(["logout"])).stderr, /You are not logged in/);
  });

  await t.step("stops on Ctrl-C, and saves nothing", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", url, ...NEVER]);
    await login.firstLine();
    login.kill("SIGINT");
    const { code, stderr } = await login.ended();
    assert.equal(code, 1);
    assert.match(stderr, /error: Cannot finish: interrupted/);
    await assert.rejects(user.savedConfig(), Deno.errors.NotFound);
  });

  await t.step("reports a damaged session file before the user signs in", async () => {
    await using user = await CliUser.create();
    await user.saveSession(url, "x");
    await Deno.writeTextFile(user.configFile, "{");
    const { code, stdout, stderr } = await user.run(["login", url, ...NEVER]);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    assert.match(stderr, /error: Cannot read your sessions in .*config\.json: it is not JSON\n.+/);
  });
});

Deno.test("kubectl bind login does not save a ServiceAccount token", async () => {
  const plane = await sharedProvider();
  await using place = await workspace(plane, "cli-login");
  const account = await accountToken(place.kube, place.namespace, "robot");
  const flags = ["--enable-issuer=false", "--kubernetes-auth"];
  await using gateway = await Gateway.start(plane, { flags });
  await using user = await CliUser.create();
  const login = user.start(["login", gateway.url, ...NEVER]);
  const printed = await login.firstLine();
  await login.type(`${account}\n`);
  await login.said(/not a gateway session, and is not stored.*XBIND_TOKEN/);
  const { origin, pathname } = redirectIn(printed);
  const redirected = await fetch(`${origin}${pathname}?token=${account}`);
  assert.equal(redirected.status, 401);
  assert.match(await redirected.text(), /You are not logged in/);
  await assert.rejects(user.savedConfig(), Deno.errors.NotFound);
  assert.equal((await browse(printed)).status, 200, "the login still waits");
  assert.equal((await login.ended()).code, 0);
  const { servers } = await user.savedConfig() as { servers: Record<string, { token: string }> };
  assert.notEqual(servers[gateway.url]?.token, account);
  const env = { XBIND_SERVER: gateway.url, XBIND_TOKEN: account };
  assert.match(await user.output(["whoami"], { env }), /^Name: +system:serviceaccount:.*:robot$/m);
});

Deno.test("kubectl bind login opens a browser only on a local display", async (t) => {
  await using gateway = await Gateway.start(await sharedProvider(), NO_ISSUER);
  const cases: [name: string, args: string[], env: Record<string, string>, opens: boolean][] = [
    ["with a display", [], { DISPLAY: ":0" }, true],
    ["with Wayland", [], { WAYLAND_DISPLAY: "wayland-0" }, true],
    ["without a display", [], {}, false],
    ["over SSH", [], { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }, false],
    ["with --no-browser", ["--no-browser"], { DISPLAY: ":0" }, false],
  ];
  for (const [name, args, env, opens] of cases) {
    await t.step({
      name,
      ignore: Deno.build.os !== "linux",
      fn: async () => {
        await using user = await CliUser.create();
        const opened = `${user.home}/opened`;
        const script = `#!/bin/sh\nprintf '%s\\n' "$@" > "${opened}"\n`;
        await Deno.writeTextFile(`${user.home}/xdg-open`, script, { mode: 0o755 });
        const login = user.start(["login", gateway.url, ...args], {
          env: { ...env, PATH: `${user.home}:/usr/bin:/bin` },
        });
        const printed = await login.firstLine();
        await login.said(opens ? /Finish the login in your browser/ : /Open this URL/);
        await browse(printed);
        assert.equal((await login.ended()).code, 0);
        const read = () => Deno.readTextFile(opened).catch(() => undefined);
        if (!opens) return assert.equal(await read(), undefined);
        // kubectl bind does not wait for the browser.
        await eventually("the URL is opened", async () => await read() === `${printed}\n`);
      },
    });
  }
  await t.step("prints the URL if no browser can be opened", async () => {
    await using user = await CliUser.create();
    const login = user.start(["login", gateway.url], {
      env: { DISPLAY: ":0", PATH: user.home },
    });
    const printed = await login.firstLine();
    await login.said(/Open this URL/);
    await browse(printed);
    assert.equal((await login.ended()).code, 0);
  });
});
