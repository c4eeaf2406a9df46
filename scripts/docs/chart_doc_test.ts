import assert from "node:assert/strict";
import { chartDoc } from "./chart_doc.ts";

Deno.test("chartDoc() makes one table per group, with the flags that a value sets", () => {
  const doc = chartDoc(
    [
      { path: "gateway.on", byDefault: true, meaning: "Needs oidc.issuerUrl." },
      { path: "count", byDefault: 1, meaning: "One | two." },
      { path: "gateway.ca.key", byDefault: "ca.crt", meaning: "Key, see <externalUrl>/x." },
    ],
    [{ flag: "enable-gateway", value: "gateway.on" }, { flag: "ca-file", file: "gateway.ca" }],
  );
  assert.deepEqual(doc.slice(doc.indexOf("\n## ") + 1).split("\n"), [
    "## `gateway`",
    "",
    "| Value            | Default    | Flag               | Meaning                     |",
    "| ---------------- | ---------- | ------------------ | --------------------------- |",
    "| `gateway.on`     | `true`     | `--enable-gateway` | Needs `oidc.issuerUrl`.     |",
    '| `gateway.ca.key` | `"ca.crt"` | `--ca-file`        | Key, see `<externalUrl>/x`. |',
    "",
    "## The release and its pods",
    "",
    "| Value   | Default | Flag | Meaning     |",
    "| ------- | ------- | ---- | ----------- |",
    "| `count` | `1`     |      | One \\| two. |",
    "",
  ]);
});
