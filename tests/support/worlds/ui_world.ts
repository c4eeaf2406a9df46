import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CRDS, type ExportSpec, type KubeObject } from "../../../common/api/resources.ts";
import type { BindResult, Catalog } from "../../../common/api/wire.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { TestBrowser, type Visit, type VisitOptions } from "../peers/browser.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { Gateway, type SessionKeys, sessionKeys } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";
import { crdFor, EXPORTED } from "../planes/issuer_samples.ts";
import { objectsIn, TestKonnector } from "./test_konnector.ts";

/** An Export in the short form of tests. */
export interface Offer extends Partial<Omit<ExportSpec, "apis">> {
  readonly name: string;
  readonly apis: readonly string[];
}

/** A Collection in the short form of tests. */
export interface Group {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  readonly exports: readonly string[];
}

const SESSION_TTL_MS = 3_600_000;

/** A provider, its gateway and a browser. */
export class UiWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly provider: TestProvider;
  readonly gateway: Gateway;
  readonly #browser: TestBrowser;
  readonly #keys: SessionKeys;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    parts: Pick<UiWorld, "plane" | "provider" | "gateway">,
    browser: TestBrowser,
    keys: SessionKeys,
    stack: AsyncDisposableStack,
  ) {
    this.plane = parts.plane;
    this.provider = parts.provider;
    this.gateway = parts.gateway;
    this.#browser = browser;
    this.#keys = keys;
    this.#stack = stack;
  }

  static async start(flags: readonly string[] = []): Promise<UiWorld> {
    await using stack = new AsyncDisposableStack();
    const keys = sessionKeys();
    const [plane, browser] = await Promise.all([ownPlane(), TestBrowser.launch()]);
    stack.use(plane);
    stack.use(browser);
    const provider = stack.use(await TestProvider.of(plane));
    const gateway = stack.use(await Gateway.start(plane, { flags, env: keys.env }));
    const parts = { plane, provider, gateway };
    return new UiWorld(parts, browser, keys, stack.move());
  }

  /** The gateway's public origin, to which the identity provider sends browsers back. */
  get origin(): string {
    return originOf(this.gateway);
  }

  /** Starts another gateway of the same provider, with the same session keys. */
  async anotherGateway(flags: readonly string[], kubeconfig?: string): Promise<Gateway> {
    return await Gateway.start(this.plane, {
      flags: ["--enable-issuer=false", ...flags],
      env: this.#keys.env,
      ...(kubeconfig ? { kubeconfig } : {}),
    });
  }

  /** Creates a session of one hour for a user, whose email has the same name. */
  async session(who: string, since = new Date()): Promise<string> {
    const codec = await createSessionCodec({
      ...this.#keys,
      sessionTtlMs: SESSION_TTL_MS,
      now: () => since,
    });
    return await codec.sealSession({
      subject: subjectOf(who),
      displayName: `${who}@example.org`,
    });
  }

  /** Runs a test as a signed-in user at the start page or at a fragment of it. */
  async visit(
    options: VisitOptions & { readonly who?: string; readonly gateway?: Gateway },
    test: (visit: Visit) => Promise<void>,
  ): Promise<void> {
    const { who = "ada", gateway = this.gateway, ...rest } = options;
    const session = await this.session(who);
    await this.#browser.visit(originOf(gateway), { session, at: "", ...rest }, test);
  }

  /** Runs a test without a session. */
  async visitAnonymously(
    options: VisitOptions,
    test: (visit: Visit) => Promise<void>,
  ): Promise<void> {
    await this.#browser.visit(this.origin, options, test);
  }

  /** Creates the APIs, Exports and Collections, and waits until the gateway lists the Exports. */
  async offer(offers: readonly Offer[], groups: readonly Group[] = []): Promise<void> {
    const { kube } = this.provider;
    const apis = new Set(offers.flatMap((offer) => offer.apis));
    await Promise.all(
      [...apis].map((api) => kube.apply(CRDS, crdFor(api, EXPORTED), FIELD_MANAGERS.installer)),
    );
    await Promise.all(
      offers.map(({ name, apis, ...spec }) => this.provider.offer(name, apis, spec)),
    );
    await Promise.all(
      groups.map(({ name, exports, ...spec }) => this.provider.collect(name, exports, spec)),
    );
    const names = new Set(offers.map(({ name }) => name));
    const session = await this.session("ada");
    await eventually("the catalog lists all Exports", async () => {
      const catalog = await this.gateway.read<Catalog>(session, "/api/catalog");
      return catalog.exports.filter(({ name }) => names.has(name)).length === names.size;
    });
  }

  /** Binds as this user without the browser. */
  async bind(who: string, exportName: string): Promise<BindResult> {
    return await this.gateway.bind(await this.session(who), exportName);
  }

  /** Binds as this user, and returns the bundle. */
  async bundle(who: string, exportName: string): Promise<KubeObject[]> {
    const { pickupURL } = await this.bind(who, exportName);
    return objectsIn(await (await this.gateway.request(pickupURL)).text());
  }

  /** Binds, and starts a konnector of a cluster with this UID. */
  async connect(who: string, exportName: string, uid: string): Promise<TestKonnector> {
    return await TestKonnector.start(await this.bundle(who, exportName), uid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Returns the subject of a user in these tests. */
export const subjectOf = (who: string): string => `https://login.example.org#${who}`;

/** The identity provider redirects to this host, and browsers trust it like https. */
const originOf = ({ url }: Gateway): string => url.replace("127.0.0.1", "localhost");

/** Runs a set-up once, before the first test of a file. */
export function once(setUp: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => done ??= setUp();
}
