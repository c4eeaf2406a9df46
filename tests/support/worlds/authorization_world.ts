import assert from "node:assert/strict";
import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { NAMESPACES } from "../../../common/api/resources.ts";
import { allowUser } from "../planes/allow_user.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { WIDGETS } from "../planes/issuer_samples.ts";
import { accountToken, connect } from "../planes/kube.ts";
import { type SealedSessions, sealedSessions, sealedSubject } from "../planes/sealed_sessions.ts";
import { Backend } from "../programs/backend.ts";
import { Gateway } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";

const EVERYTHING = ["get", "list", "watch", "create", "update", "patch", "delete"];
/** The rights of a gateway, without any kind of impersonation. */
const BY_NAME = [
  { apiGroups: ["*"], resources: ["*"], verbs: EVERYTHING },
];
/** Adds the impersonation that the chart gives. */
const IN_BULK = [
  ...BY_NAME,
  {
    apiGroups: ["authentication.k8s.io"],
    resources: ["users", "groups"],
    verbs: ["impersonate:user-info"],
  },
  {
    apiGroups: ["authorization.k8s.io"],
    resources: ["selfsubjectrulesreviews"],
    verbs: ["impersonate-on:user-info:create", "impersonate-on:serviceaccount:create"],
  },
  {
    apiGroups: ["authentication.k8s.io"],
    resources: ["serviceaccounts"],
    verbs: ["impersonate:serviceaccount"],
  },
];
/** Everything that a gateway needs, except for access reviews. */
const NO_REVIEWS = [
  {
    apiGroups: ["catalog.xbind.io", "iam.xbind.io", "coordination.k8s.io", "apiextensions.k8s.io"],
    resources: ["*"],
    verbs: EVERYTHING,
  },
  { apiGroups: [""], resources: ["secrets", "namespaces"], verbs: ["get"] },
];

/** What the account of a gateway may ask. */
export const GATEWAY_RIGHTS = { BY_NAME, IN_BULK, NO_REVIEWS };

/** The account of the issuer. */
export const ISSUER = "issuer-of-the-world";

/** A gateway that asks RBAC, and the name of its account. */
export type AskingGateway = Gateway & { readonly account: string };

/**
 * A provider with the Exports widgets, gadgets and vault, an issuer, and rights for some:
 * the group `team-a` binds widgets and sees gadgets; bob may do everything; the ServiceAccount
 * `robot` binds gadgets; eve may do nothing.
 */
export class AuthorizationWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly provider: TestProvider;
  readonly sessions: SealedSessions;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    plane: ControlPlane,
    provider: TestProvider,
    sessions: SealedSessions,
    stack: AsyncDisposableStack,
  ) {
    this.plane = plane;
    this.provider = provider;
    this.sessions = sessions;
    this.#stack = stack;
  }

  static async start(issuerFlags: readonly string[] = []): Promise<AuthorizationWorld> {
    const stack = new AsyncDisposableStack();
    const plane = stack.use(await ownPlane({ auditLog: true }));
    await allowUser(plane, ISSUER, [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    stack.use(
      await Backend.start(plane, {
        flags: ["--enable-gateway=false", ...issuerFlags],
        kubeconfig: await plane.kubeconfigFor(ISSUER),
      }),
    );
    const provider = stack.use(await TestProvider.of(plane));
    await provider.define(WIDGETS);
    for (const name of ["widgets", "gadgets", "vault"]) {
      await provider.offerReady(name, [WIDGETS], { docs: `https://example.org/${name}` });
    }
    await provider.collect("tools", ["gadgets", "vault", "widgets"], { title: "Tools" });
    await provider.collect("secret", ["vault"], { title: "Secret" });
    await provider.makeNamespace("robots");
    const world = new AuthorizationWorld(plane, provider, await sealedSessions(), stack);
    await world.allow("team-a-binds", ["get", "bind"], ["widgets"], "--group=xbind:team-a");
    await world.allow("team-a-sees", ["get"], ["gadgets"], "--group=xbind:team-a");
    await world.allow("bob", ["get", "bind"], [], `--user=${userName("bob")}`);
    await world.allow(
      "bob-lists",
      ["list"],
      [],
      `--user=${userName("bob")}`,
      "grants.iam.xbind.io",
    );
    // RBAC complains about a role that does not exist, and decides all the same.
    const dangling = ["--clusterrole=no-such-role", "--group=xbind:team-a"];
    await world.kubectl("create", "clusterrolebinding", "dangling", ...dangling);
    await world.allow(
      "callers-ask",
      ["create"],
      [],
      "--group=xbind:authenticated",
      "selfsubjectrulesreviews.authorization.k8s.io",
    );
    await world.allow("robot", ["get", "bind"], ["gadgets"], "--serviceaccount=robots:robot");
    return world;
  }

  /** Starts a gateway that asks RBAC, with an account that has these rights. */
  async gateway(
    rights: readonly object[],
    flags: readonly string[] = [],
  ): Promise<AskingGateway> {
    const account = `gateway-${crypto.randomUUID().slice(0, 8)}`;
    await allowUser(this.plane, account, [...rights]);
    const kubeconfig = await this.plane.kubeconfigFor(account);
    const gateway = await Gateway.start(this.plane, {
      flags: [
        "--enable-issuer=false",
        "--install-crds=false",
        "--enable-apply",
        "--authorization=Kubernetes",
        ...flags,
      ],
      env: this.sessions.env,
      kubeconfig,
    });
    this.#stack.use(gateway);
    return Object.assign(gateway, { account });
  }

  /** Gives a subject these verbs on Exports, or on another resource. No names mean all. */
  async allow(
    name: string,
    verbs: readonly string[],
    names: readonly string[],
    subject: string,
    resource = "exports.catalog.xbind.io",
  ): Promise<void> {
    const [plural, ...group] = resource.split(".");
    // `kubectl create clusterrole` does not know the verb.
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [{
        apiGroups: [group.join(".")],
        resources: [plural],
        verbs,
        ...(names.length > 0 ? { resourceNames: names } : {}),
      }],
    };
    const { code, stderr } = await this.plane.kubectl(["create", "-f", "-"], {
      stdin: JSON.stringify(role),
    });
    assert.equal(code, 0, stderr);
    await this.kubectl("create", "clusterrolebinding", name, `--clusterrole=${name}`, subject);
  }

  /** Takes back what `allow` gave. */
  async forbid(name: string): Promise<void> {
    await this.kubectl("delete", "clusterrolebinding,clusterrole", name);
  }

  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.plane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** Asks kubectl whether a user of a gateway may do something; the same question as xbind's. */
  async canI(who: string, groups: readonly string[], ...question: string[]): Promise<boolean> {
    const { stdout } = await this.plane.kubectl([
      ...["auth", "can-i", ...question, `--as=${userName(who)}`],
      ...[...groups.map((group) => `xbind:${group}`), "xbind:authenticated"].map((group) =>
        `--as-group=${group}`
      ),
    ]);
    return stdout.trim() === "yes";
  }

  /** Returns a token of the ServiceAccount `robot`. */
  async robot(): Promise<string> {
    return await accountToken(this.provider.kube, "robots", "robot");
  }

  /** Returns the reviews of others that an account has sent so far. */
  async reviews(account: string): Promise<AuditEvent[]> {
    using admin = await connect(this.plane);
    const marker = `marker-${crypto.randomUUID()}`;
    await admin.kube.find(NAMESPACES, { name: marker });
    return await eventually("the audit log is complete", async () => {
      const events = await auditEvents(this.plane, ({ stage }) => stage === "ResponseComplete");
      if (!events.some(({ objectRef }) => objectRef?.name === marker)) return undefined;
      // A backend also asks for its own rules, once at start.
      return events.filter(({ user, objectRef, impersonatedUser }) =>
        user.username === account &&
        (impersonatedUser || objectRef?.resource === "subjectaccessreviews")
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** The name by which RBAC knows a caller with a sealed session. */
export const userName = (who: string): string => `xbind:${sealedSubject(who)}`;
