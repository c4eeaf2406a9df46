import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { CONFIG_MAPS } from "../../../common/api/resources.ts";
import { Cache } from "../../../common/kube/cache.ts";
import { metadataObjects } from "../../../common/kube/follow.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import { Transport, type TransportOptions } from "../../../common/kube/transport.ts";
import { Rate } from "../../../common/time/rate.ts";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { sender, watchLine } from "../../support/peers/hostile_provider.ts";
import { running, TEST_USER_AGENT } from "../../support/planes/kube.ts";

const MIB = 1024 * 1024;
/** The most that a socket buffers, for both ends. */
const BUFFERED = 16 * MIB;

interface Query {
  readonly isWatch: boolean;
  /** Whether the watch shall begin with the objects that exist. */
  readonly wantsInitial: boolean;
}

/** Starts a server, and a client of it. */
async function startEndless(
  answer: (answer: ServerResponse, query: Query) => unknown,
  options: Partial<TransportOptions> = {},
) {
  const server = await HostileApiServer.start((response, _, { url = "" }) => {
    const query = new URL(url, server.url).searchParams;
    return answer(response, {
      isWatch: query.has("watch"),
      wantsInitial: query.has("sendInitialEvents"),
    });
  });
  const transport = new Transport({
    origin: "a test",
    server: server.url,
    context: "",
    ca: { data: server.caPem },
    insecureSkipTlsVerify: false,
    auth: { kind: "none" },
    impersonation: {},
  }, { userAgent: TEST_USER_AGENT, ...options });
  return {
    server,
    kube: new KubeClient(transport),
    async [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const named = (name: string) => ({ metadata: { name, namespace: "a", uid: name } });
let made = 0;
const fiveNew = () => Array.from({ length: 5 }, () => named(`object-${made++}`));

/** Answers with one page of a list that has no end. */
const page = (answer: ServerResponse, items: readonly object[]) =>
  answer.writeHead(200, { "Content-Type": "application/json" })
    .end(JSON.stringify({ metadata: { resourceVersion: "5", continue: "more" }, items }));

const refuse = (answer: ServerResponse) => answer.writeHead(400).end("{}");

/** Sends text again and again, as fast as the client reads it. */
async function sendForever(answer: ServerResponse, text: () => string): Promise<void> {
  answer.writeHead(200, { "Content-Type": "application/json" });
  const send = sender(answer);
  while (await send(text())) await sleep(0);
}

const most = { objects: 12, further: "ignored" } as const;

Deno.test("Cache reads no more pages of a list than it has room for", async () => {
  let pages = 0;
  await using at = await startEndless((answer, { isWatch, wantsInitial }) => {
    if (wantsInitial) return refuse(answer);
    if (isWatch) return answer.writeHead(200).flushHeaders();
    pages++;
    return page(answer, fiveNew());
  });
  const cache = new Cache(metadataObjects(CONFIG_MAPS), { most });
  await using _ = await running(cache, at.kube);
  assert.deepEqual([cache.size, pages], [12, 3]);
});

Deno.test("Cache syncs though a watch sends initial objects without end", async () => {
  await using at = await startEndless((answer, { isWatch, wantsInitial }) => {
    if (wantsInitial) {
      const lines = () => fiveNew().map((object) => watchLine("ADDED", object)).join("");
      return sendForever(answer, lines);
    }
    if (isWatch) return answer.writeHead(200).flushHeaders();
    return page(answer, fiveNew());
  });
  const cache = new Cache(metadataObjects(CONFIG_MAPS), { most });
  await using _ = await running(cache, at.kube);
  assert.equal(cache.size, 12);
});

Deno.test("Cache reads a list of very many pages slowly", async () => {
  await using at = await startEndless((answer, { isWatch }) =>
    isWatch ? refuse(answer) : page(answer, [])
  );
  const cache = new Cache(metadataObjects(CONFIG_MAPS));
  const stop = new AbortController();
  const run = cache.run(at.kube, stop.signal);
  await eventually("1,001 requests", () => at.server.requests > 1_000, { timeoutMs: 60_000 });
  const [begun, before] = [performance.now(), at.server.requests];
  await sleep(1_000);
  const further = at.server.requests - before;
  assert.ok(further <= (performance.now() - begun) / 100 + 1, `${further} pages in a second`);
  stop.abort();
  await run;
});

Deno.test("Transport reads no faster than its pace", async () => {
  const rate = new Rate({ burst: 2 * MIB, perSecond: MIB });
  let bytes = 0;
  let begun = 0;
  const pace = (part: number) => {
    begun ||= performance.now();
    bytes += part;
    return rate.spend("server", part);
  };
  const line = watchLine("ADDED", named("x".repeat(1_000)));
  await using at = await startEndless(
    (answer) => sendForever(answer, () => line.repeat(100)),
    { pace },
  );
  const cache = new Cache(metadataObjects(CONFIG_MAPS));
  const stop = new AbortController();
  const run = cache.run(at.kube, stop.signal);
  await eventually("more than the burst is read", () => bytes > 3 * MIB);
  await sleep(500); // it is resumed several times
  const allowed = 2 * MIB + MIB * (performance.now() - begun) / 1_000;
  // A part is passed on before the pause that it calls for, with the rest of the socket's buffer.
  assert.ok(bytes <= allowed + BUFFERED, `${bytes} bytes of ${allowed}`);
  stop.abort();
  await run;
});

Deno.test("Cache reports a watch that sends nonsense", async () => {
  await using at = await startEndless((answer) => void answer.writeHead(200).write("null\n"));
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const cache = new Cache(metadataObjects(CONFIG_MAPS), { reports: { disconnected: resolve } });
  const stop = new AbortController();
  const run = cache.run(at.kube, stop.signal);
  assert.match(String(await promise), /Cannot watch configmaps: a line is not an event/);
  stop.abort();
  await run;
});
