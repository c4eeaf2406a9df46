import assert from "node:assert/strict";
import { delimiter, dirname, join } from "node:path";
import { stringify } from "yaml";
import { KubeClient } from "../../../common/kube/client.ts";
import { runExecPlugin } from "../../../common/kube/exec_credential.ts";
import { loadTarget } from "../../../common/kube/load_target.ts";
import { Transport } from "../../../common/kube/transport.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import {
  accountToken,
  reviewSelf,
  temporaryDir,
  TEST_USER_AGENT,
  type UserInfo,
  workspace,
} from "../../support/planes/kube.ts";
import { acceptedKubeconfigs } from "../../testdata/kubeconfigs/accepted.ts";
import { type KubeconfigCase, kubeconfigParts } from "../../testdata/kubeconfigs/parts.ts";
import { refusedKubeconfigs } from "../../testdata/kubeconfigs/refused.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

/** Makes the parts of the cases, among them two ServiceAccounts with tokens. */
async function caseParts() {
  const at = await workspace(provider, "kubeconfig");
  const { namespace } = at;
  const robotToken = await accountToken(at.kube, namespace, "robot");
  const secondToken = await accountToken(at.kube, namespace, "second");
  return {
    ...await kubeconfigParts(provider, { namespace, robotToken, secondToken }),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

/** Asks the API server through kubectl who it is; returns the answer or the error. */
async function askKubectl(env: Record<string, string>, context = ""): Promise<UserInfo | Error> {
  const args = ["auth", "whoami", "-o", "json", `--context=${context}`];
  const { code, stdout, stderr } = await provider.kubectl(args, { env });
  return code === 0 ? JSON.parse(stdout).status.userInfo : new Error(stderr);
}

/** Asks the API server through our client who it is; returns the answer or the error. */
async function askOurselves(env: Record<string, string>, context = ""): Promise<UserInfo | Error> {
  try {
    const target = await loadTarget({ env, context, order: "file-first", accountDir: "/none" });
    const options = { userAgent: TEST_USER_AGENT, runExec: runExecPlugin };
    using transport = new Transport(target, options);
    return await reviewSelf(new KubeClient(transport));
  } catch (error) {
    return error as Error;
  }
}

/** Asks through both with the files of a case. */
async function askBoth({ files, list = ["config"], context }: KubeconfigCase) {
  await using dir = await temporaryDir();
  for (const [file, content] of Object.entries(files)) {
    const path = join(dir.path, file);
    const text = typeof content === "string" ? content : stringify(content, { version: "1.1" });
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text, { mode: 0o700 });
  }
  const KUBECONFIG = list.map((file) => file && join(dir.path, file)).join(delimiter);
  const env = { KUBECONFIG, HOME: dir.path };
  const [theirs, ours] = await Promise.all([askKubectl(env, context), askOurselves(env, context)]);
  return { theirs, ours };
}

Deno.test("loadTarget() finds the same user as kubectl", async (t) => {
  await using parts = await caseParts();
  for (const { user, kubectlRefuses, ...files } of acceptedKubeconfigs(parts)) {
    await t.step(files.name, async () => {
      const { theirs, ours } = await askBoth(files);
      if (ours instanceof Error) throw ours;
      assert.equal(ours.username, user);
      if (kubectlRefuses) assert.ok(theirs instanceof Error, JSON.stringify(theirs));
      else assert.deepEqual(ours, theirs);
    });
  }
});

Deno.test("loadTarget() or the first call fails where kubectl fails, with a reason", async (t) => {
  await using parts = await caseParts();
  for (const { says, ...files } of refusedKubeconfigs(parts)) {
    await t.step(files.name, async () => {
      const { theirs, ours } = await askBoth(files);
      assert.ok(theirs instanceof Error, `kubectl is ${JSON.stringify(theirs)}`);
      assert.ok(ours instanceof Error, `we are ${JSON.stringify(ours)}; kubectl: ${theirs}`);
      assert.match(ours.message, says);
    });
  }
});
