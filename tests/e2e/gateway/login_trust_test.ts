import assert from "node:assert/strict";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import { temporaryDir } from "../../support/planes/kube.ts";
import { LoginGateway, type LoginGatewayOptions } from "../../support/worlds/login_gateway.ts";

Deno.test("--oidc-ca-file replaces the system's roots for the identity provider", async (t) => {
  await using idp = await IdentityProvider.start();
  await using dir = await temporaryDir();
  const other = `${dir.path}/other.pem`;
  await Deno.writeTextFile(other, (await createAuthority("somebody else")).cert);
  // Adds the identity provider's authority to the system's roots.
  const trusted = { NODE_EXTRA_CA_CERTS: idp.caFile };
  const cases: readonly [string, LoginGatewayOptions, "trusted" | "refused"][] = [
    ["without the flag an unknown authority is refused", { caFile: "" }, "refused"],
    ["without the flag a root is trusted", { caFile: "", env: trusted }, "trusted"],
    ["another authority in the file", { caFile: other }, "refused"],
    ["another authority in the file, its own a root", { caFile: other, env: trusted }, "refused"],
    ["its own authority in the file", {}, "trusted"],
  ];
  for (const [name, options, expected] of cases) {
    await t.step(name, async () => {
      await using gateway = await LoginGateway.start(idp, options);
      if (expected === "trusted") return void await gateway.identityAfterLogin();
      const start = await gateway.browser().get("/api/auth/oidc/login");
      assert.equal(start.status, 503, start.text);
      assert.match(start.text, /cannot be reached/);
      assert.equal(start.headers.get("Set-Cookie"), null);
      assert.match(await gateway.complaint(), /certificate/i);
      await gateway.assertUp();
    });
  }
});

Deno.test("a login refuses a certificate for another host, though its authority is trusted", async () => {
  await using idp = await IdentityProvider.start({ host: "idp.example" });
  const issuer = `https://127.0.0.1:${idp.port}`;
  const { caPem, caFile } = idp;
  await using gateway = await LoginGateway.start({ issuer, caPem, caFile });
  assert.equal((await gateway.browser().get("/api/auth/oidc/login")).status, 503);
  assert.match(await gateway.complaint(), /certificate/i);
});
