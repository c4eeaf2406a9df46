import assert from "node:assert/strict";
import { type Config, parseConfig } from "../../../server/config.ts";
import { ConfigError } from "../../../common/flags/config_error.ts";

/** Variables of the environment. */
export type Env = Readonly<Record<string, string>>;

/** The flags that a gateway needs at least. */
export const OIDC = ["--oidc-issuer-url=https://idp.example.com", "--oidc-client-id=xbind"];

/** Parses valid arguments. */
export const run = (args: readonly string[], env: Env = {}): Config => {
  const invocation = parseConfig(args, env);
  assert.ok(invocation.kind === "run");
  return invocation.config;
};

/** Returns the problems of invalid arguments. */
export const problems = (args: readonly string[], env: Env = {}): readonly string[] => {
  try {
    parseConfig(args, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
};

/** Returns a key with this number of bytes. */
export const base64 = (length: number) => btoa("k".repeat(length));
