import assert from "node:assert/strict";
import { type CommandLine, normalizeArgs } from "./argv.ts";
import { CliError } from "./cli_error.ts";

const OUTPUT = { long: "output", short: "o", kind: "value" } as const;
const LINE: CommandLine = {
  global: [
    { long: "help", short: "h", kind: "boolean" },
    { long: "server", kind: "value" },
    { long: "ca-file", kind: "value" },
  ],
  commands: new Map([
    ["catalog", [OUTPUT, { long: "no-headers", kind: "boolean" }]],
    ["export", [
      OUTPUT,
      { long: "install-konnector", kind: "boolean" },
      { long: "no-install-konnector", kind: "boolean" },
      { long: "wait", kind: "boolean" },
      { long: "dry-run", kind: "optional", preset: "client" },
    ]],
    ["login", []],
  ]),
};

Deno.test("normalizeArgs() accepts every spelling that kubectl accepts", async (t) => {
  const spellings: [given: string, normal: string][] = [
    ["", ""],
    ["--help", "--help"],
    ["-h", "--help"],
    ["catalog", "catalog"],
    ["catalog -o yaml", "catalog --output=yaml"],
    ["catalog -oyaml", "catalog --output=yaml"],
    ["catalog -o=yaml", "catalog --output=yaml"],
    ["catalog --output yaml", "catalog --output=yaml"],
    ["catalog --output=yaml", "catalog --output=yaml"],
    ["catalog -output yaml", "catalog --output=yaml"],
    ["catalog -output=yaml", "catalog --output=yaml"],
    ["catalog --output=", "catalog --output="],
    ["catalog --output=a=b", "catalog --output=a=b"],
    ["catalog -o -", "catalog --output=-"],
    ["catalog -o --help", "catalog --output=--help"],
    ["-o yaml catalog", "catalog --output=yaml"],
    ["-oyaml catalog", "catalog --output=yaml"],
    ["--server https://a catalog", "catalog --server=https://a"],
    ["-server https://a catalog", "catalog --server=https://a"],
    ["--server=https://a catalog -h", "catalog --server=https://a --help"],
    ["--server export catalog", "catalog --server=export"],
    ["catalog --no-headers", "catalog --no-headers"],
    ["catalog --no-headers=true", "catalog --no-headers"],
    ["catalog --no-headers=false", "catalog"],
    ["catalog --no-headers --no-headers=false", "catalog"],
    ["export pg --install-konnector", "export pg --install-konnector"],
    ["export --install-konnector pg", "export --install-konnector pg"],
    ["export --install-konnector false", "export --install-konnector false"],
    ["export pg --install-konnector=false", "export pg --no-install-konnector"],
    ["export pg --install-konnector=FALSE", "export pg --no-install-konnector"],
    ["export pg --install-konnector=0", "export pg --no-install-konnector"],
    ["export pg --install-konnector=f", "export pg --no-install-konnector"],
    ["export pg --install-konnector=True", "export pg --install-konnector"],
    ["export pg --install-konnector=1", "export pg --install-konnector"],
    ["export pg --no-install-konnector", "export pg --no-install-konnector"],
    ["export pg --no-install-konnector=false", "export pg --install-konnector"],
    ["export --install-konnector=false --install-konnector pg", "export --install-konnector pg"],
    ["export pg --wait=false", "export pg"],
    ["export pg --wait --wait=false", "export pg"],
    ["export --dry-run pg", "export --dry-run=client pg"],
    ["export --dry-run=server pg", "export --dry-run=server pg"],
    ["export -- --wait -oyaml", "export -- --wait -oyaml"],
    ["export -", "export -"],
  ];
  const words = (text: string) => text.split(" ").filter(Boolean);
  for (const [given, normal] of spellings) {
    await t.step(`"${given}" is "${normal}"`, () => {
      assert.deepEqual(normalizeArgs(words(given), LINE), words(normal));
    });
  }
});

Deno.test("normalizeArgs() refuses unknown words, and suggests the closest", async (t) => {
  const refusals: [given: string, message: RegExp, remedy: RegExp][] = [
    ["catlog", /unknown command "catlog"/, /Did you mean "catalog"\?/],
    ["frobnicate", /unknown command "frobnicate"/, /^See: kubectl bind --help$/],
    ["catalog --sever x", /unknown flag "--sever"/, /Did you mean "--server"\?.*catalog --help/],
    ["catalog --sever=secret", /unknown flag "--sever"$/, /Did you mean "--server"/],
    ["catalog -sever", /unknown flag "-sever"/, /Did you mean "--server"/],
    ["catalog -x", /unknown flag "-x"/, /^See: kubectl bind catalog --help$/],
    ["catalog --wait", /unknown flag "--wait"/, /^See: /],
    ["catalog -hx", /unknown flag "-hx"/, /See: /],
    ["--frob", /unknown flag "--frob"/, /^See: kubectl bind --help$/],
    ["catalog -o", /--output: its value is missing/, /catalog --help/],
    ["export pg --wait=maybe", /--wait=maybe: it is neither true nor false/, /--wait=false/],
  ];
  for (const [given, message, remedy] of refusals) {
    await t.step(given, () => {
      assert.throws(() => normalizeArgs(given.split(" "), LINE), (error) => {
        assert.ok(error instanceof CliError);
        assert.equal(error.failure, "usage");
        assert.match(error.message, message);
        assert.match(error.remedy ?? "", remedy);
        return true;
      });
    });
  }
});
