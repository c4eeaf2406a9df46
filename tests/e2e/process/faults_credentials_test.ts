import assert from "node:assert/strict";
import { stringify } from "yaml";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { SERVICE_ACCOUNTS } from "../../../common/api/resources.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { failure, Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { accountToken, temporaryDir } from "../../support/planes/kube.ts";
import { sealedSessions } from "../../support/planes/sealed_sessions.ts";

/** Three times the promised time, because the machine may be busy. */
const SOON = { timeoutMs: 30_000 };
const NAMESPACE = "default";

type Files = Readonly<Record<string, string>>;

/** Credentials in files, and how the old ones are revoked. */
interface Rotation {
  readonly name: string;
  /** Fields of the user in the kubeconfig. */
  readonly user: object;
  /** Returns the files of the old or the new user. */
  files(provider: TestProvider, nth: "old" | "new"): Promise<Files>;
  /** Returns the user name at the API server. */
  username(nth: "old" | "new"): string;
  /** Revokes the old credentials. */
  revoke(provider: TestProvider): Promise<unknown>;
}

const ROTATIONS: readonly Rotation[] = [
  {
    name: "client certificates",
    user: { "client-certificate": "tls.crt", "client-key": "tls.key" },
    files: async ({ plane }, nth) => {
      const { cert, key } = await plane.userCertificate(`certificate-${nth}`);
      return { "tls.crt": cert, "tls.key": key };
    },
    username: (nth) => `certificate-${nth}`,
    revoke: ({ plane }) => plane.kubectl(["delete", "clusterrolebinding", "certificate-old"]),
  },
  {
    name: "tokens",
    user: { tokenFile: "token" },
    files: async ({ kube }, nth) => ({
      token: await accountToken(kube, NAMESPACE, `account-${nth}`),
    }),
    username: (nth) => `system:serviceaccount:${NAMESPACE}:account-${nth}`,
    revoke: ({ kube }) =>
      kube.delete(SERVICE_ACCOUNTS, { name: "account-old", namespace: NAMESPACE }),
  },
];

const allow = async (plane: ControlPlane, user: string): Promise<void> => {
  const name = user.split(":").at(-1) ?? "";
  const args = ["create", "clusterrolebinding", name, "--clusterrole=cluster-admin"];
  const { code, stderr } = await plane.kubectl([...args, `--user=${user}`]);
  assert.equal(code, 0, stderr);
};

Deno.test("xbind-backend reads credentials again after they are replaced on disk:", async (t) => {
  await using plane = await ownPlane({ auditLog: true });
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  const sessions = await sealedSessions();
  const ada = await sessions.seal("ada");
  for (const [nth, rotation] of ROTATIONS.entries()) {
    await t.step(rotation.name, async () => {
      await using dir = await temporaryDir();
      const write = async (files: Files) => {
        for (const [name, text] of Object.entries(files)) {
          await Deno.writeTextFile(`${dir.path}/${name}`, text);
        }
      };
      await Promise.all([rotation.username("old"), rotation.username("new")]
        .map((user) => allow(plane, user)));
      await write(await rotation.files(provider, "old"));
      await write({ "ca.crt": plane.caPem, kubeconfig: kubeconfigFor(plane, rotation.user) });
      await using gateway = await Gateway.start(plane, {
        kubeconfig: `${dir.path}/kubeconfig`,
        env: sessions.env,
      });
      const [offer, next] = [`widgets-${nth}`, `next-${nth}`];
      await provider.offerReady(offer, [WIDGETS]);
      await gateway.bind(ada, offer);

      await rotation.revoke(provider);
      await eventually("the old credentials are refused", async () => {
        return await failure(await gateway.tryBind(ada, offer), 502);
      }, SOON);
      // A new authority beside the old one, as during a rotation of the cluster's CA.
      await write({ "ca.crt": (await createAuthority("next")).cert + plane.caPem });
      await write(await rotation.files(provider, "new"));
      await eventually("binds work again", () => gateway.bind(ada, offer), SOON);
      await provider.offerReady(next, [WIDGETS]);
      await gateway.bind(ada, next);
      assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
      const writers = (await auditEvents(plane, ({ verb, stage }) => {
        return stage === "ResponseComplete" && ["create", "patch"].includes(verb);
      })).map(({ user }) => user.username);
      for (const user of [rotation.username("old"), rotation.username("new")]) {
        assert.ok(writers.includes(user), user);
      }
    });
  }
});

const kubeconfigFor = ({ server }: ControlPlane, user: object): string =>
  stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server, "certificate-authority": "ca.crt" } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  });
