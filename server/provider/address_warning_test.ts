import assert from "node:assert/strict";
import { addressWarning } from "./address_warning.ts";

Deno.test("addressWarning() warns of an address that consumers cannot use", async (t) => {
  const rows: [server: string, context: string, externalAddress: string, warning?: RegExp][] = [
    ["https://k8s.example.org:6443", "x", ""],
    ["http://k8s.example.org:8080", "x", "", /name http:.*, which kubectl bind refuses/],
    ["https://kubernetes.default.svc:443", "x", "", /consumers outside this cluster cannot reach/],
    ["https://10.0.0.1:443", "", "", /consumers outside this cluster cannot reach/],
    ["http://k8s.example.org:8080", "x", "https://k8s.example.org"],
  ];
  for (const [server, context, externalAddress, warning] of rows) {
    await t.step(`${server} ${externalAddress}`, () => {
      const said = addressWarning({ externalAddress }, { server, context });
      if (warning) assert.match(said ?? "", warning);
      else assert.equal(said, undefined);
    });
  }
});
