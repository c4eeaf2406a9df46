import assert from "node:assert/strict";
import { freePort } from "./free_port.ts";

Deno.test("freePort() gives ports to listen on that outgoing connections never take", () => {
  for (let i = 0; i < 20; i++) {
    const port = freePort();
    assert.ok(port >= 20_000 && port < 32_000, `${port}`);
    using listener = Deno.listen({ hostname: "127.0.0.1", port });
    assert.equal((listener.addr as Deno.NetAddr).port, port);
  }
});
