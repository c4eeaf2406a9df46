import assert from "node:assert/strict";
import { Hidden } from "../hidden.ts";
import { describeConfig } from "./describe_config.ts";
import { duration, flag, list, number, secret, text } from "./flag_kinds.ts";

const KIND = { placeholder: "word", parse: (value: string) => ({ value }) };
const FLAGS = {
  "install": flag(true, "A switch"),
  "pickup-ttl": duration("5m", "A duration"),
  "session-ttl": duration("12h", "A duration that is left alone"),
  "rate": number(0, "A number"),
  "scopes": list("a", "A list", KIND),
  "name": text("", "A text that is not set"),
  "signing-key": secret("base64", "A secret", (value) => ({ value })),
};

Deno.test("describeConfig() shows settings that differ from the defaults, but no secret values", () => {
  const config = {
    install: false,
    pickupTtlMs: 90_000,
    sessionTtlMs: 43_200_000,
    rate: 2,
    scopes: ["a", "b"],
    name: "",
    signingKey: new Hidden("marker"),
  };
  assert.deepEqual(describeConfig(FLAGS, config), {
    "install": "false",
    "pickup-ttl": "1m30s",
    "rate": "2",
    "scopes": "a,b",
    "signing-key": "[set]",
  });
});
