import assert from "node:assert/strict";
import { findProvider } from "./find_provider.ts";

Deno.test("findProvider() warns of an address that consumers cannot use", async (t) => {
  const rows: [server: string, externalAddress: string, warning: RegExp | undefined][] = [
    ["https://k8s.example.org:6443", "", undefined],
    ["http://k8s.example.org:8080", "", /name http:.*, which kubectl bind refuses/],
    ["https://kubernetes.default.svc:443", "", /consumers outside this cluster cannot reach/],
    ["http://k8s.example.org:8080", "https://k8s.example.org", undefined],
  ];
  const file = await Deno.makeTempFile();
  try {
    for (const [server, externalAddress, warning] of rows) {
      await t.step(`${server} ${externalAddress}`, async () => {
        const kubeconfig = {
          clusters: [{ name: "c", cluster: { server } }],
          users: [{ name: "u", user: { token: "t" } }],
          contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
          "current-context": "x",
        };
        await Deno.writeTextFile(file, JSON.stringify(kubeconfig));
        const found = await findProvider({ kubeconfig: file, externalAddress }, { env: {} });
        using _transport = found.transport;
        assert.equal(found.warnings.length, warning ? 1 : 0, found.warnings.join());
        if (warning) assert.match(found.warnings[0] ?? "", warning);
      });
    }
  } finally {
    await Deno.remove(file);
  }
});
