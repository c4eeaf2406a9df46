/** Runs in its own process: a server that does the minimum, to compare the gateway with. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { say } from "../scripts/say.ts";

const body = new Uint8Array(Number(Deno.args[0])).fill(0x20);
const server = http.createServer((_, answer) => {
  answer.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": String(body.byteLength),
  });
  answer.end(body);
});
server.listen(0, "127.0.0.1", () => {
  say(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
