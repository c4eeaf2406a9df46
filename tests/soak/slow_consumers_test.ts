import assert from "node:assert/strict";
import { sharedProvider } from "../support/planes/control_planes.ts";
import { failure, Gateway, postJson } from "../support/worlds/gateway_world.ts";
import { type HostileAnswer, HostileApiServer } from "../support/peers/hostile_api_server.ts";

const plane = await sharedProvider();

/** Writes a head, and then a piece every 200 ms without end. */
const drip = (head: string, piece: string): HostileAnswer => (_, socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), 200);
  socket.on("close", () => clearInterval(timer));
};
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

const SERVERS: Record<string, HostileAnswer> = {
  "that do not answer": () => {},
  "whose head comes byte by byte": drip("HTTP/1.1 200 OK\r\nX-Slow: ", "x"),
  "whose body comes byte by byte": drip(`${HEAD}\r\n`, " "),
  "whose chunks never end": drip(
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n`,
    "1\r\n \r\n",
  ),
  "that always answer 429": (answer) => answer.writeHead(429, { "Retry-After": "9" }).end(),
};

Deno.test("POST /api/apply gives up on servers", async (t) => {
  await using gateway = await Gateway.start(plane, {
    flags: ["--enable-issuer=false", "--enable-apply"],
  });
  const { token } = await gateway.login();
  // One identity may apply to four servers in parallel.
  const entries = Object.entries(SERVERS);
  for (let from = 0; from < entries.length; from += 4) {
    await Promise.all(
      entries.slice(from, from + 4).map(async ([what, answer]) => {
        await using server = await HostileApiServer.start(answer);
        const request = { kubeconfig: server.kubeconfig(), installKonnector: true };
        const answered = await gateway.as(token, "/api/apply", postJson(request));
        await failure(answered, 502, /did not answer in time|took longer than 60 s|overloaded/);
        assert.ok(server.requests <= 4, what);
      }),
    );
    await t.step(`${entries.slice(from, from + 4).map(([what]) => what).join(", ")}`, async () => {
      assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
    });
  }
});
