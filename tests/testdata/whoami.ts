/** Prints the user of a kubeconfig: `whoami.ts <kubeconfig>`. Exec plugins are allowed. */
import { runExecPlugin } from "../../common/kube/exec_credential.ts";
import { connect, whoAmI } from "../support/planes/kube.ts";

try {
  using connected = await connect(Deno.args[0] ?? "", { runExec: runExecPlugin });
  const text = new TextEncoder().encode(`${await whoAmI(connected.kube)}\n`);
  await Deno.stdout.write(text);
} catch (error) {
  await Deno.stderr.write(new TextEncoder().encode(`${error}\n`));
  Deno.exitCode = 1;
}
