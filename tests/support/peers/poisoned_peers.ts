import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { KubeObject, RelatedResource } from "../../../common/api/resources.ts";
import { grantBundle } from "../../../server/bind/bundle.ts";
import { konnectorManifest } from "../../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../../common/yaml.ts";
import { grantName } from "../../../common/api/names.ts";
import { PEMS } from "../../testdata/hostile_kubeconfigs/parts.ts";
import { HostileApiServer } from "./hostile_api_server.ts";
import { grantFor } from "../planes/issuer_samples.ts";

/** The start of a forged line. */
const FORGED = "FORGED-LINE";
/** Part of every poison, in every output format. */
export const MARK = "poisoned";

/** Text with every terminal escape, invisible character and line break, and forged lines. */
export const POISON =
  `${MARK}\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u001bPq\u001b\\\u009b31m\u009d0;x\u009c` +
  `\r${FORGED}\n${FORGED}\u2028${FORGED}\u0085\v\f\b\0\u007f\t\u061c\u202e\u2066\u200b\u200f` +
  `\u2060\ufeff\u{e0041}`;

const DANGEROUS =
  /[^\P{Cc}\n]|[\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;

/** Asserts that a text has no control character and no forged line. */
export function assertHarmless(text: string, what: string): void {
  const found = DANGEROUS.exec(text);
  const around = found &&
    JSON.stringify(text.slice(Math.max(0, found.index - 60), found.index + 9));
  assert.equal(found, null, `${what}: ${around}`);
  assert.doesNotMatch(text, new RegExp(`^ *${FORGED}`, "m"), what);
}

/**
 * The poisoned texts of a peer: free texts only, every text, or the messages of refusals with this
 * status.
 */
export type Malice = "texts" | "everything" | number;

const SUBJECT = `ada${POISON}`;
const GRANT = grantName("widgets", SUBJECT);
const NOW = "2026-01-02T03:04:05Z";

const bundle = () => {
  const related: RelatedResource = {
    resource: "secrets",
    direction: "FromProvider",
    selector: { names: [POISON], labelSelector: { matchLabels: { [POISON]: POISON } } },
  };
  const grant = grantFor({ relatedResources: [related] });
  const named = { ...grant, metadata: { ...grant.metadata, name: GRANT } };
  const data = { token: btoa("a.b.c"), "ca.crt": btoa(PEMS.ca) };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, data };
  const provider = { externalAddress: "", restHost: "https://provider.example.org:6443" };
  return grantBundle(named, secret, provider);
};

const offer = (name: string) => ({
  name,
  title: POISON,
  description: POISON,
  apis: [POISON],
  iconURL: POISON,
  docs: POISON,
  relatedResources: [{ resource: POISON, direction: "FromProvider", selector: POISON }],
});

const binding = {
  grant: GRANT,
  export: POISON,
  identity: POISON,
  subject: POISON,
  boundaryNamespace: POISON,
  lastHeartbeat: NOW,
  live: false,
  apis: [{ name: POISON, syncedCount: 1 }, { name: POISON }],
};

/** The answers of the gateway, by path prefix. */
const ANSWERS: readonly (readonly [path: string, answer: () => unknown])[] = [
  ["/api/provider", () => ({
    name: POISON,
    version: POISON,
    authMethods: [POISON],
    applyEnabled: true,
  })],
  ["/api/me", () => ({ subject: SUBJECT, displayName: POISON, groups: [POISON] })],
  ["/api/catalog/", () => ({
    export: POISON,
    instances: [{
      api: POISON,
      name: POISON,
      namespace: POISON,
      clusterUID: POISON,
      createdAt: POISON,
    }],
  })],
  ["/api/catalog", () => ({
    exports: [offer("widgets"), offer(`evil${POISON}`)],
    collections: [{ name: POISON, title: POISON, description: POISON, exports: [POISON] }],
  })],
  ["/api/clusters", () => ({
    clusters: [{ uid: POISON, lastHeartbeat: NOW, live: false, bindings: [binding] }],
    pending: [{ grant: POISON, export: POISON, identity: POISON, createdAt: POISON }],
    truncated: [{ boundaryNamespace: POISON, leases: 1 }],
  })],
  ["/api/bind", () => ({ grant: GRANT, pickupURL: "/api/bundle/a.b", expiresAt: POISON })],
  ["/api/bundle/", () => ({ bundle: bundle() })],
];

/** Appends poison to every text in a value. */
const poisoned = (value: unknown): unknown => {
  if (typeof value === "string") return value + POISON;
  if (Array.isArray(value)) return value.map(poisoned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, poisoned(each)]));
};

/** A gateway that answers every request with poison. */
export class PoisonedGateway implements AsyncDisposable {
  readonly url: string;
  malice: Malice = "texts";
  readonly #server: http.Server;

  private constructor(server: http.Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<PoisonedGateway> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const gateway = new PoisonedGateway(server);
    server.on("request", (request: http.IncomingMessage, answer: http.ServerResponse) => {
      request.resume();
      const { status, type, body } = gateway.#answer(request.url ?? "");
      answer.writeHead(status, { "Content-Type": type }).end(body);
    });
    return gateway;
  }

  #answer(path: string): { status: number; type: string; body: string } {
    const { malice } = this;
    const json = "application/json";
    if (typeof malice === "number") {
      return { status: malice, type: json, body: JSON.stringify({ error: POISON }) };
    }
    const spoil = malice === "everything" ? poisoned : (value: unknown) => value;
    if (path === "/api/konnector") {
      const objects = konnectorManifest("registry.example.org/konnector:1").map(spoil);
      return { status: 200, type: "application/yaml", body: toYaml(objects as object[]) };
    }
    const [, answer] = ANSWERS.find(([prefix]) => path.startsWith(prefix)) ?? assert.fail(path);
    return { status: 200, type: json, body: JSON.stringify(spoil(answer())) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

const stateOf = (path: string): Partial<KubeObject> & object => ({
  metadata: { name: GRANT, namespace: "xbind", uid: POISON, generation: 1, finalizers: [POISON] },
  spec: { replicas: 1, template: { spec: { containers: [{ image: `x${path.length}` }] } } },
  status: {
    conditions: ["Ready", "Available"].map((type) => ({
      type,
      status: "False",
      reason: POISON,
      message: POISON,
      lastTransitionTime: NOW,
    })),
  },
} as Partial<KubeObject> & object);

/** A consumer's API server that answers every request with poison. */
export class PoisonedConsumer implements AsyncDisposable {
  malice: Malice = "texts";
  readonly #server: HostileApiServer;

  private constructor(server: HostileApiServer) {
    this.#server = server;
  }

  static async start(): Promise<PoisonedConsumer> {
    const { promise, resolve } = Promise.withResolvers<PoisonedConsumer>();
    const server = await HostileApiServer.start(async (answer, _, request) => {
      const consumer = await promise;
      let body = "";
      for await (const part of request) body += part;
      const path = request.url ?? "";
      if (path.includes("watch=")) return answer.writeHead(200).flushHeaders();
      const { status, value } = consumer.#answer(request.method ?? "", path, body);
      answer.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    });
    const consumer = new PoisonedConsumer(server);
    resolve(consumer);
    return consumer;
  }

  /** A kubeconfig whose context, cluster and user have poisoned names. */
  get kubeconfig(): string {
    const { url, caPem } = this.#server;
    const ca = btoa(caPem);
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: POISON, cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: POISON, user: { token: "bait" } }],
      contexts: [{ name: POISON, context: { cluster: POISON, user: POISON } }],
      "current-context": POISON,
    });
  }

  #answer(method: string, path: string, body: string): { status: number; value: unknown } {
    const { malice } = this;
    if (typeof malice === "number") {
      const value = { kind: "Status", reason: POISON, message: POISON, code: malice };
      return { status: malice, value };
    }
    if (path === "/version") {
      const version = { major: "1", minor: "36", gitVersion: `v1.36${POISON}` };
      return { status: 200, value: version };
    }
    if (path.includes("selfsubjectaccessreviews")) {
      return { status: 200, value: { status: { allowed: malice === "texts" } } };
    }
    const state = stateOf(path);
    if (method === "PATCH") return { status: 200, value: { ...state, ...JSON.parse(body) } };
    if (method === "DELETE") return { status: 200, value: {} };
    const [resource = ""] = path.split("?");
    const isOne = /\/(?:konnector|kube-system|xbind|widgets-[^/]+|[^/]+\.io)$/.test(resource);
    if (isOne) return { status: 200, value: state };
    const other = { ...state, metadata: { name: POISON, uid: POISON } };
    return { status: 200, value: { metadata: { resourceVersion: "1" }, items: [state, other] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
