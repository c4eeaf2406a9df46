import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { BindResult } from "../../../common/api/wire.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";
import { wholeBody } from "../../support/peers/http_relay.ts";

interface Fields {
  [key: string]: unknown;
}
interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}
type Edit = (path: string, answer: Answer) => Answer;

/** Starts a gateway that forwards the real gateway's answers after an edit. */
async function hostileGateway(real: string) {
  const arrivals: { path: string; authorization: string | undefined }[] = [];
  let edit: Edit = (_, answer) => answer;
  const server = http.createServer((request, answer) => void relay(request, answer));
  async function relay(request: http.IncomingMessage, answer: http.ServerResponse) {
    const { method = "GET", url = "", headers } = request;
    arrivals.push({ path: url, authorization: headers.authorization });
    const body = new Uint8Array(await wholeBody(request));
    const { accept = "", authorization = "" } = headers;
    const reply = await fetch(new URL(url, real), {
      method,
      headers: { accept, ...(authorization ? { authorization } : {}) },
      redirect: "manual",
      ...(method === "POST" ? { body } : {}),
    });
    const type = reply.headers.get("Content-Type") ?? "";
    const given = { status: reply.status, headers: { "Content-Type": type } };
    const edited = edit(url, { ...given, body: await reply.text() });
    answer.writeHead(edited.status, edited.headers).end(edited.body);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    editWith: (next: Edit) => void (edit = next),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Edits the JSON of one path only. */
const onJson = <T>(path: string, change: (value: T) => void): Edit => (at, answer) => {
  if (!at.startsWith(path)) return answer;
  const value: T = JSON.parse(answer.body);
  change(value);
  return { ...answer, body: JSON.stringify(value) };
};

const onManifest = (change: (yaml: string) => string): Edit => (path, answer) =>
  path === "/api/konnector" ? { ...answer, body: change(answer.body) } : answer;

const SECRET = { apiVersion: "v1", kind: "Secret", metadata: { name: "a", namespace: "default" } };
const ADMIN = JSON.stringify({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "pwned" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "User", name: "mallory" }],
});

Deno.test("kubectl bind export refuses the answers of a hostile gateway:", async (t) => {
  await using world = await CliWorld.start();
  await using gateway = await hostileGateway(world.gateway.url);
  await using elsewhere = await hostileGateway(world.gateway.url);
  const env = { XBIND_SERVER: gateway.url, XBIND_TOKEN: world.token };
  const refuses = async (args: string[], words: RegExp) => {
    const writes = await world.writesDuring(async () => {
      const { code, stdout, stderr } = await world.bind(args, { env });
      assert.equal(code, 1, stderr);
      assert.match(stderr, words);
      assert.equal(stdout, "");
    });
    assert.deepEqual(writes, []);
    assert.deepEqual(elsewhere.arrivals, []);
  };
  const bundle = (change: (objects: Fields[], secret: Fields & { stringData: Fields }) => void) =>
    onJson<{ bundle: Fields[] }>("/api/bundle/", ({ bundle }) => {
      change(bundle, bundle[0] as Fields & { stringData: Fields });
    });
  const kubeconfig = (find: string | RegExp, replacement: string) =>
    bundle((_, { stringData }) => {
      const before = String(stringData["kubeconfig"]);
      stringData["kubeconfig"] = before.replace(find, replacement);
      assert.notEqual(stringData["kubeconfig"], before);
    });
  const meta = { name: "kube-proxy", namespace: "kube-system" };

  const bundles: [what: string, edit: Edit, words: RegExp][] = [
    ["a fourth object", bundle((objects) => objects.push(SECRET)), /exactly three/],
    ["another kind", bundle((objects) => void (objects[1] = SECRET)), /no Connection/],
    ["a Secret of the system", bundle((_, secret) => void (secret["metadata"] = meta)), /metadata/],
    ["a command", kubeconfig("token:", "exec: {command: sh}\n      token:"), /exec is not allowed/],
    ["plain http", kubeconfig(/server: https:/, "server: http:"), /https:\/\/host/],
    ["a proxy", kubeconfig("server:", "proxy-url: http://a\n      server:"), /proxy-url/],
    [
      "no verification",
      kubeconfig(/certificate-authority-data: .*/, "insecure-skip-tls-verify: true"),
      /insecure-skip-tls-verify/,
    ],
  ];
  for (const [what, edit, words] of bundles) {
    await t.step(`in a bundle: ${what}`, async () => {
      gateway.editWith(edit);
      await refuses(["export", "widgets"], words);
      await refuses(["export", "widgets", "-oyaml"], words);
    });
  }

  const manifests: [what: string, edit: Edit, words: RegExp][] = [
    ["a foreign object", onManifest((yaml) => `${yaml}---\n${ADMIN}\n`), /pwned is not part/],
    [
      "more rights",
      onManifest((yaml) => yaml.replaceAll("- delete\n", '- "*"\n')),
      /asks for more/,
    ],
    [
      "the host's network",
      onManifest((yaml) => yaml.replace("serviceAccountName", "hostNetwork: true\n      $&")),
      /hostNetwork/,
    ],
    ["no YAML", onManifest(() => "<html>"), /manifest/],
  ];
  for (const [what, edit, words] of manifests) {
    await t.step(`in a manifest: ${what}`, async () => {
      gateway.editWith(edit);
      await refuses(["export", "widgets"], words);
      await refuses(["connect"], words);
    });
  }

  const pickups: [what: string, url: (path: string) => string][] = [
    ["on another host", (path) => `${elsewhere.url}${path}`],
    ["on another host, without a scheme", (path) => `//${new URL(elsewhere.url).host}${path}`],
    ["as an absolute URL on its own host", (path) => `${gateway.url}${path}`],
    ["on another path", () => "/api/me"],
    ["with .. in its path", () => "/api/bundle/../me"],
    ["with a query", (path) => `${path}?a=b`],
  ];
  for (const [what, url] of pickups) {
    await t.step(`a pickup URL ${what}`, async () => {
      gateway.editWith(
        onJson<{ -readonly [K in keyof BindResult]: BindResult[K] }>("/api/bind", (result) => {
          result.pickupURL = url(result.pickupURL);
        }),
      );
      const before = gateway.arrivals.length;
      await refuses(["export", "widgets"], /pickup URL leads elsewhere/);
      const paths = gateway.arrivals.slice(before).map(({ path }) => path);
      assert.deepEqual(paths.sort(), [
        "/api/bind",
        "/api/catalog",
        "/api/konnector",
        "/api/me",
      ]);
    });
  }

  for (const path of ["/api/konnector", "/api/bind", "/api/bundle/"]) {
    await t.step(`a redirect from ${path}`, async () => {
      const Location = `${elsewhere.url}/api/me`;
      gateway.editWith((at, answer) =>
        at.startsWith(path) ? { status: 307, headers: { Location }, body: "" } : answer
      );
      await refuses(["export", "widgets"], /it redirects to .* which is not followed/);
    });
  }

  await t.step("a used pickup, with exit code 6", async () => {
    gateway.editWith((path, answer) =>
      path === "/api/bind"
        ? { ...answer, body: answer.body.replace(/bundle\/[^"]+/, "bundle/a.b") }
        : answer
    );
    const writes = await world.writesDuring(async () => {
      await world.fails(["export", "widgets"], 6, /Run the command again/, { env });
    });
    assert.deepEqual(writes, []);
  });

  await t.step("a pickup with 503, after which it binds again", async () => {
    let isFirst = true;
    gateway.editWith((path, answer) => {
      if (!isFirst || !path.startsWith("/api/bundle/")) return answer;
      isFirst = false;
      const headers = { "Content-Type": "application/json", "Retry-After": "1" };
      return { status: 503, headers, body: '{"error":"Cannot pick up the bundle: try again"}' };
    });
    const before = gateway.arrivals.length;
    await world.lines(["export", "widgets"], { env });
    const paths = gateway.arrivals.slice(before).map(({ path }) => path.split("/")[2]);
    const pickups = paths.filter((path) => path === "bind" || path === "bundle");
    assert.deepEqual(pickups, ["bind", "bundle", "bind", "bundle"]);
  });

  await t.step("and sends the session only to paths that need it", async () => {
    gateway.editWith((_, answer) => answer);
    const before = gateway.arrivals.length;
    await world.lines(["export", "widgets"], { env });
    const sent = gateway.arrivals.slice(before).map(({ path, authorization }) =>
      [path.replace(/bundle\/.*/, "bundle/…"), authorization !== undefined] as const
    );
    assert.deepEqual(sent.sort(), [
      ["/api/bind", true],
      ["/api/bundle/…", false],
      ["/api/catalog", true],
      ["/api/konnector", false],
      ["/api/me", true],
    ]);
    assert.deepEqual(elsewhere.arrivals, []);
  });
});
