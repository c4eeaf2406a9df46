import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Instances } from "../../../common/api/wire.ts";
import { Backend } from "../../support/programs/backend.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { heapOf, READABLE_HEAP } from "../../support/programs/heap.ts";
import { uniqueName, workspace } from "../../support/planes/kube.ts";
import { GATEWAY_URL, LoginBrowser } from "../../support/peers/login_browser.ts";

const plane = await sharedProvider();

const marker = () => `marker${crypto.randomUUID().replaceAll("-", "")}`;

/** Applies an object with kubectl, which also stores it in an annotation. */
async function apply(plane: ControlPlane, object: object): Promise<void> {
  const stdin = JSON.stringify(object);
  const { code, stderr } = await plane.kubectl(["apply", "-f", "-"], { stdin });
  assert.equal(code, 0, stderr);
}

Deno.test("the inventory holds no value of a Secret, not even from last-applied-configuration", async (t) => {
  await using place = await workspace(plane, "secrets-in-memory");
  await using backend = await Backend.start(plane, {
    flags: [
      "--enable-issuer=false",
      "--oidc-mock",
      "--listen-address=127.0.0.1:0",
      `--external-url=${GATEWAY_URL}`,
    ],
    ...READABLE_HEAP,
  });
  using browser = new LoginBrowser({ gateway: await backend.addressOf("/") });
  const exportName = uniqueName("secrets-in-memory");
  const app = { app: exportName };
  const [known, byName, byLabel, later] = ["known", "by-name", "by-label", "later"].map(uniqueName);
  assert.ok(known && byName && byLabel && later);
  const control = marker();
  const values: string[] = [];
  const secret = (name: string, labels: Record<string, string> = {}) => {
    const [inText, inData] = [marker(), marker()];
    values.push(inText, inData);
    const metadata = { name, namespace: place.namespace, labels, annotations: { [known]: inText } };
    return {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      stringData: { text: inText },
      data: { data: btoa(inData) },
    };
  };
  const shownSecrets = async () => {
    const { status, text } = await browser.get(`/api/catalog/${exportName}/instances`);
    assert.equal(status, 200, text);
    for (const value of values) {
      for (const form of [value, btoa(value)]) assert.equal(text.includes(form), false);
    }
    const { instances }: Instances = JSON.parse(text);
    return instances.filter(({ related }) => related).map(({ name }) => name).sort();
  };

  const related = { resource: "secrets", direction: "FromProvider" };
  await apply(plane, {
    apiVersion: "catalog.xbind.io/v1alpha1",
    kind: "Export",
    metadata: { name: exportName },
    spec: {
      title: "Secrets",
      description: `${"x".repeat(5_000)}${control}`,
      apis: [{ name: "nothing.example.org" }],
      defaults: {
        relatedResources: [
          // The API server cannot select two names, so the gateway lists all Secrets.
          { ...related, selector: { names: [byName, "nobody"] } },
          { ...related, selector: { labelSelector: { matchLabels: app } } },
        ],
      },
    },
  });
  try {
    await apply(plane, secret(byName));
    await apply(plane, secret(byLabel, app));
    await apply(plane, secret("unwanted"));
    assert.equal((await browser.logIn()).status, 302);
    await t.step("existing Secrets are shown", async () => {
      await eventually("both rows are shown", async () => (await shownSecrets()).length === 2);
      assert.deepEqual(await shownSecrets(), [byName, byLabel].sort());
    });
    await t.step("a Secret created during the watch is shown", async () => {
      await apply(plane, secret(byName)); // new values in a known object
      await apply(plane, secret(later, app));
      await eventually("the new row is shown", async () => (await shownSecrets()).includes(later));
    });
    await t.step("the heap has their names but not their values", async () => {
      const heap = await heapOf(backend);
      for (const name of [byName, byLabel, later, control]) {
        assert.ok(heap.includes(name), `${name} is missing, so the search proves nothing`);
      }
      assert.equal(values.length, 10);
      for (const value of values) {
        for (const form of [value, btoa(value).replace(/=+$/, "")]) {
          assert.equal(heap.includes(form), false, `a value of a Secret is in the heap: ${form}`);
        }
      }
    });
    await t.step("the log has none of their values", () => {
      const log = backend.lines.join("\n");
      for (const value of values) assert.equal(log.includes(value), false);
    });
  } finally {
    await plane.kubectl(["delete", "exports.catalog.xbind.io", exportName]);
  }
});
