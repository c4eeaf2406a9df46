import assert from "node:assert/strict";
import { CliUser } from "../../support/programs/cli.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import { GATEWAY_URL } from "../../support/peers/login_browser.ts";
import { LoginGateway } from "../../support/worlds/login_gateway.ts";
import { startConnectProxy } from "../../support/peers/proxy_servers.ts";
import { startTlsFront } from "../../support/peers/tls_front.ts";

const HOST = new URL(GATEWAY_URL).hostname;
/** Without an issuer, since tests that share the provider make Grants of their own. */
const NO_ISSUER = { flags: ["--enable-issuer=false"] };

Deno.test("kubectl bind login works with a real identity provider", async () => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  idp.account = { sub: "ada", email: "ada@example.org" };
  await using user = await CliUser.create();
  const login = user.start(["login", gateway.address, "--no-browser"]);
  const redirect = new URL(await login.firstLine()).searchParams.get("redirect") ?? "";
  const answer = await gateway.browser().logIn(redirect);
  assert.equal(answer.location?.split("?")[0], redirect);
  const page = await fetch(answer.location ?? "");
  assert.match(await page.text(), /You are logged in/);
  const { code, stderr } = await login.ended();
  assert.equal(code, 0, stderr);
  assert.match(stderr, /as ada@example\.org\./);
  assert.match(await user.output(["whoami"]), new RegExp(`^Subject: +${idp.issuer}#ada$`, "m"));
});

Deno.test("--ca-file replaces the system's authorities, and login remembers it", async () => {
  await using gateway = await Gateway.start(await sharedProvider(), NO_ISSUER);
  await using front = await startTlsFront(gateway.url, ["127.0.0.1"]);
  const { token } = await gateway.login();
  const server = `https://127.0.0.1:${front.port}`;
  await using user = await CliUser.create();

  const untrusted = await user.run(["login", server], { stdin: token });
  assert.equal(untrusted.code, 1);
  assert.match(untrusted.stderr, /certificate is not signed by a trusted authority\n.*--ca-file/);

  // Login stores the path as absolute, because later commands run in other directories.
  await Deno.copyFile(front.caFile, `${user.home}/ca.pem`);
  const args = ["login", `127.0.0.1:${front.port}`, "--ca-file", "ca.pem", "--no-browser"];
  const login = await user.run(args, { stdin: token });
  assert.equal(login.code, 0, login.stderr);
  assert.deepEqual(await user.savedConfig(), {
    current: server,
    servers: { [server]: { token, caFile: `${user.home}/ca.pem` } },
  });
  assert.match(await user.output(["whoami"]), /jane\.doe/);

  for (const file of ["missing.pem", "."]) {
    const { code, stderr } = await user.run(["whoami", "--ca-file", file]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /error: Cannot use .*--ca-file.*\n.+/);
  }
});

Deno.test("HTTPS_PROXY carries the calls to the gateway, unless NO_PROXY names it", async () => {
  await using gateway = await Gateway.start(await sharedProvider(), NO_ISSUER);
  await using front = await startTlsFront(gateway.url, [HOST]);
  await using proxy = await startConnectProxy(undefined, `127.0.0.1:${front.port}`);
  const { token } = await gateway.login();
  await using user = await CliUser.create();
  const env = {
    XBIND_SERVER: `https://${HOST}`,
    XBIND_TOKEN: token,
    HTTPS_PROXY: `http://${proxy.address}`,
  };
  const args = ["whoami", "--ca-file", front.caFile];
  assert.match(await user.output(args, { env }), /jane\.doe/);
  assert.deepEqual(proxy.asked, [`${HOST}:443`]);

  const direct = await user.run(args, { env: { ...env, NO_PROXY: ".example" } });
  assert.equal(direct.code, 1);
  assert.match(direct.stderr, /host name/);
  assert.equal(proxy.asked.length, 1);

  await proxy[Symbol.asyncDispose]();
  const away = await user.run(args, { env });
  assert.equal(away.code, 1);
  assert.match(away.stderr, /the proxy .* cannot be reached: connection refused\n.*HTTPS_PROXY/);
});
