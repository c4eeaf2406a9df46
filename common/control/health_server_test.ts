import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { type ManagerServerOptions, serveManager } from "./health_server.ts";
import { createLogger } from "../log/log.ts";

interface Served {
  /** Maps each path of the metrics and the probes to its URL. */
  readonly urls: Readonly<Record<string, string>>;
  readonly lines: readonly Record<string, unknown>[];
}

const METRICS = {
  contentType: "text/plain; version=0.0.4; charset=utf-8",
  text: () => Promise.resolve("up 1\n"),
};

async function send(url = "", method = "GET") {
  const request = http.request(url, { method, agent: false }).end();
  const [answer] = await once(request, "response") as [http.IncomingMessage];
  let body = "";
  for await (const part of answer) body += part;
  return { status: answer.statusCode, headers: answer.headers, body };
}

/** Makes a log that passes each record on. */
const jsonLog = (write: (line: string) => void) =>
  createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "epoch",
    write,
  });

/** Serves during a test, by default on free ports. */
async function serving(
  options: Partial<ManagerServerOptions>,
  sites: number,
  test: (served: Served) => Promise<void> | void,
): Promise<void> {
  const stop = new AbortController();
  const up = Promise.withResolvers<void>();
  const lines: Record<string, unknown>[] = [];
  const urls: Record<string, string> = {};
  const log = jsonLog((text) => {
    const line = JSON.parse(text);
    lines.push(line);
    if (line.msg !== "listening") return;
    for (const path of line.paths) urls[path] = `${line.address}${path}`;
    if (lines.length === sites) up.resolve();
  });
  const running = serveManager({
    metricsAddress: "127.0.0.1:0",
    probeAddress: "127.0.0.1:00", // a different text means a separate server
    metrics: METRICS,
    ready: () => true,
    log,
    ...options,
  })(stop.signal);
  try {
    await Promise.race([up.promise, running]);
    await test({ urls, lines });
  } finally {
    stop.abort(new Error("end of test"));
    await running;
  }
}

const originOf = (url: string | undefined): string => new URL(url ?? "").origin;

Deno.test("serveManager() serves metrics and probes on two servers", () =>
  serving({}, 2, async ({ urls }) => {
    const metrics = await send(urls["/metrics"]);
    assert.deepEqual([metrics.status, metrics.body], [200, "up 1\n"]);
    assert.equal(metrics.headers["content-type"], METRICS.contentType);
    const [metricsAt, probesAt] = [originOf(urls["/metrics"]), originOf(urls["/healthz"])];
    for (const path of ["/healthz", "/readyz", "/readyz?verbose"]) {
      const { status, body, headers } = await send(probesAt + path);
      assert.deepEqual([status, body], [200, "ok"]);
      assert.equal(headers["content-type"], "text/plain; charset=utf-8");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["cache-control"], "no-store");
    }
    assert.notEqual(metricsAt, probesAt);
    for (const url of [`${metricsAt}/healthz`, `${metricsAt}/readyz`, `${probesAt}/metrics`]) {
      assert.equal((await send(url)).status, 404, url);
    }
  }));

Deno.test("serveManager() refuses other paths and methods", () =>
  serving({}, 2, async ({ urls }) => {
    const origin = originOf(urls["/metrics"]);
    for (const path of ["/", "/metrics/", "//metrics", "/constructor", "/__proto__", "/a%00"]) {
      const { status, headers } = await send(origin + path);
      assert.equal(status, 404, path);
      assert.equal(headers["x-content-type-options"], "nosniff");
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
      const { status, headers } = await send(`${origin}/metrics`, method);
      assert.deepEqual([status, headers.allow], [405, "GET, HEAD"], method);
    }
  }));

Deno.test("serveManager() answers HEAD like GET, without the body", () =>
  serving({}, 2, async ({ urls }) => {
    const { status, headers, body } = await send(urls["/metrics"], "HEAD");
    assert.deepEqual([status, headers["content-length"], body], [200, "5", ""]);
  }));

Deno.test("serveManager() reports whether it is ready, and if not, why", async () => {
  let ready: boolean | string = false;
  await serving({ ready: () => ready }, 2, async ({ urls }) => {
    const probe = async () => {
      const { status, body } = await send(urls["/readyz"]);
      return [status, body];
    };
    assert.deepEqual(await probe(), [503, "not ready"]);
    ready = "the cache of grants is empty";
    assert.deepEqual(await probe(), [503, "not ready: the cache of grants is empty"]);
    assert.equal((await send(urls["/healthz"])).status, 200);
    ready = true;
    assert.deepEqual(await probe(), [200, "ok"]);
  });
});

Deno.test("serveManager() says what is amiss although it is ready", async () => {
  let note: string | undefined = "a right is missing";
  await serving({ readyNote: () => note }, 2, async ({ urls }) => {
    assert.equal((await send(urls["/readyz"])).body, "ok, but a right is missing");
    note = undefined;
    assert.equal((await send(urls["/readyz"])).body, "ok");
  });
});

Deno.test("serveManager() survives handlers that throw", async () => {
  const metrics = { ...METRICS, text: () => Promise.reject(new Error("a gauge broke")) };
  const ready = () => {
    throw new Error("a check broke");
  };
  await serving({ metrics, ready }, 2, async ({ urls, lines }) => {
    for (const path of ["/metrics", "/readyz"]) {
      const { status, body } = await send(urls[path]);
      assert.deepEqual([status, body], [500, "internal error"]);
    }
    const errors = lines.slice(2).map(({ level, path, error }) => `${level} ${path}: ${error}`);
    assert.deepEqual(errors, ["error /metrics: a gauge broke", "error /readyz: a check broke"]);
  });
});

Deno.test("serveManager() uses one server for one address", async () => {
  const options = { metricsAddress: "127.0.0.1:0", probeAddress: "127.0.0.1:0" };
  await serving(options, 1, async ({ urls }) => {
    assert.deepEqual(Object.keys(urls), ["/metrics", "/healthz", "/readyz"]);
    assert.equal(originOf(urls["/metrics"]), originOf(urls["/readyz"]));
    for (const url of Object.values(urls)) assert.equal((await send(url)).status, 200);
  });
});

Deno.test("serveManager() serves nothing at the address 0", async () => {
  await serving({ metricsAddress: "0" }, 1, ({ urls }) => {
    assert.deepEqual(Object.keys(urls), ["/healthz", "/readyz"]);
  });
  await serving({ probeAddress: "0" }, 1, ({ urls }) => {
    assert.deepEqual(Object.keys(urls), ["/metrics"]);
  });
  const stop = new AbortController();
  const log = jsonLog(assert.fail);
  const off = { metricsAddress: "0", probeAddress: "0", metrics: METRICS, ready: () => true, log };
  const running = serveManager(off)(stop.signal);
  stop.abort();
  await running;
});

Deno.test("serveManager() listens on every interface without a host", () =>
  serving({ metricsAddress: ":0", probeAddress: "0" }, 1, async ({ urls }) => {
    const { port } = new URL(urls["/metrics"] ?? "");
    for (const host of ["127.0.0.1", ...(hasIpv6() ? ["[::1]"] : [])]) {
      assert.equal((await send(`http://${host}:${port}/metrics`)).status, 200, host);
    }
  }));

const hasIpv6 = (): boolean => Deno.networkInterfaces().some(({ address }) => address === "::1");

Deno.test("serveManager() names the flag when it cannot listen", async (t) => {
  const taken = net.createServer();
  taken.listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = `127.0.0.1:${(taken.address() as net.AddressInfo).port}`;
  const both = { metricsAddress: address, probeAddress: address };
  const cases: [Partial<ManagerServerOptions>, string][] = [
    [{ metricsAddress: address }, "--metrics-bind-address"],
    [{ probeAddress: address }, "--health-probe-bind-address"],
    [both, "--metrics-bind-address, --health-probe-bind-address"],
  ];
  for (const [options, flag] of cases) {
    await t.step(flag, async () => {
      const message = `Cannot listen on "${address}" (${flag}): the address is in use`;
      await assert.rejects(serving(options, 9, () => {}), { message });
    });
  }
  taken.close();
  await once(taken, "close");
});

Deno.test("serveManager() closes idle and half-open connections when it ends", async () => {
  const closed: Promise<unknown>[] = [];
  await serving({}, 2, async ({ urls }) => {
    const { hostname, port } = new URL(urls["/metrics"] ?? "");
    for (const text of ["", "GET /met", "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"]) {
      const socket = net.connect(Number(port), hostname);
      await once(socket, "connect");
      socket.write(text);
      closed.push(once(socket, "close"));
      if (text.endsWith("\r\n\r\n")) await once(socket, "data");
      else socket.resume();
      socket.on("error", () => {});
    }
  });
  await Promise.all(closed);
});
