import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CliUser } from "../../support/programs/cli.ts";
import {
  AuthorizationWorld,
  GATEWAY_RIGHTS,
  userName,
} from "../../support/worlds/authorization_world.ts";

const world = await AuthorizationWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

Deno.test("kubectl bind tells what may not be bound, and what would allow it", async (t) => {
  const gateway = await world.gateway(GATEWAY_RIGHTS.IN_BULK);
  await using user = await CliUser.create();
  const token = await world.sessions.seal("ada", ["team-a"]);
  await user.saveSession(gateway.url, token);

  await t.step("catalog has a note, and a column with -o wide", async () => {
    const { stdout, stderr } = await user.run(["catalog", "-o", "wide"]);
    const [header = "", gadgets = "", widgets = ""] = stdout.split("\n");
    assert.match(header, / BINDABLE$/);
    assert.match(gadgets, /^gadgets .* no$/);
    assert.match(widgets, /^widgets .* yes$/);
    assert.match(stderr, /^Note: you may not bind gadgets; /m);
  });
  await t.step("whoami shows the names in RBAC", async () => {
    const shown = await user.output(["whoami"]);
    assert.ok(shown.includes(userName("ada")), shown);
    assert.match(shown, /xbind:team-a, xbind:authenticated/);
  });
  await t.step("export refuses before it asks for anything", async () => {
    const { code, stderr } = await user.run(["export", "gadgets", "-o", "yaml"]);
    assert.equal(code, 1);
    assert.match(stderr, /Cannot bind Export "gadgets": you may see it, but not bind it/);
    assert.match(stderr, /kubectl bind doctor .*https:\/\/example\.org\/gadgets/);
  });
  await t.step("export of a hidden Export says that there is none", async () => {
    const { code, stderr } = await user.run(["export", "vault", "-o", "yaml"]);
    assert.equal(code, 4, stderr);
  });
  await t.step("doctor prints the RBAC, and with it the bind works", async () => {
    const { stdout } = await user.run(["doctor"]);
    assert.match(
      stdout,
      /^ok +authorization +The provider's RBAC knows you as user xbind:https:/m,
    );
    const manifests = stdout.slice(stdout.indexOf("apiVersion:"), stdout.lastIndexOf(NEXT_CHECK));
    const { code, stderr } = await world.plane.kubectl(["apply", "-f", "-"], { stdin: manifests });
    assert.equal(code, 0, `${stderr}\n${stdout}`);
    await eventually("ada may bind", async () => {
      return (await user.run(["export", "gadgets", "-o", "yaml"])).code === 0;
    });
  });
  await t.step("what doctor prints for another Export takes nothing away", async () => {
    await world.allow("ada-sees", ["get"], ["vault"], `--user=${userName("ada")}`);
    const { stdout } = await eventually("doctor shows the vault", async () => {
      const shown = await user.run(["doctor"]);
      return /You may not bind vault\./.test(shown.stdout) && shown;
    });
    const manifests = stdout.slice(stdout.indexOf("apiVersion:"), stdout.lastIndexOf(NEXT_CHECK));
    const { code, stderr } = await world.plane.kubectl(["apply", "-f", "-"], { stdin: manifests });
    assert.equal(code, 0, stderr);
    for (const name of ["gadgets", "vault"]) {
      assert.ok(await world.canI("ada", [], "bind", `exports.catalog.xbind.io/${name}`), name);
    }
  });
});

/** Begins the line of the check after that of authorization. */
const NEXT_CHECK = "ok       gateway clock";
