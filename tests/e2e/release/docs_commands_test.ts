import path from "node:path";
import { commandBlocks } from "../../../scripts/docs/docs_blocks.ts";
import { say } from "../../../scripts/say.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Terminal } from "../../support/programs/docs_commands.ts";

/** The pages whose commands must all work. */
const PAGES = ["README.md", "docs/quick-start.md", "docs/who-may-bind.md"];

for (const page of PAGES) {
  Deno.test(`the commands of ${page} work as printed`, async (t) => {
    const url = new URL(`../../../${page}`, import.meta.url);
    const blocks = commandBlocks(await Deno.readTextFile(url));
    const marked = blocks.filter(({ mode }) => mode.kind === "not run");
    await using planes = new AsyncDisposableStack();
    const provider = planes.use(await ownPlane());
    const consumer = planes.use(await ownPlane({ controllerManager: false }));
    await using terminal = await Terminal.open({
      programs: path.dirname(provider.kubectlPath),
      files: {
        "provider.kubeconfig": provider.adminKubeconfig,
        "consumer.kubeconfig": consumer.adminKubeconfig,
      },
    });
    let ran = 0;
    for (const block of blocks.filter((each) => !marked.includes(each))) {
      const [first = ""] = block.commands.split("\n");
      // Later blocks depend on this one.
      if (!await t.step(`line ${block.line}: ${first}`, () => terminal.follow(block))) break;
      ran++;
    }
    say(`${page}: ${ran} blocks ran, ${marked.length} are marked as not run`);
  });
}
