import type { Me } from "../../common/api/wire.ts";
import { deadline } from "../../common/time/deadline.ts";
import { CliError } from "../cli_error.ts";
import { connectGateway } from "../gateway/connect.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Io } from "../terminal/io.ts";
import type { GlobalOptions } from "../options.ts";
import { serverText } from "../gateway/server_url.ts";
import { authorizationCheck, isDecidedByRbac } from "./authorization_check.ts";
import { type Check, checkClock, checked, skipped } from "./checks.ts";

/** The client for later checks; absent without a valid session. */
export interface SignedIn {
  gateway?: GatewayClient;
}

const PATIENCE_MS = 15_000;

/** Checks the gateway, its clock and the session; sets `signedIn.gateway` when all are good. */
export async function* gatewayChecks(
  io: Io,
  options: GlobalOptions,
  signedIn: SignedIn,
): AsyncGenerator<Check> {
  const tooSlow = new CliError(
    "timeout",
    `Cannot reach the gateway: no answer within ${PATIENCE_MS / 1000} s`,
    "Check the address (--server), the network and HTTPS_PROXY",
  );
  using limit = deadline(PATIENCE_MS, io.signal, tooSlow);
  let gateway: GatewayClient | undefined;
  const reached = await checked("gateway", async () => {
    gateway = await connectGateway(io, options, "public");
    const { name, version = "unknown" } = await gateway.provider(limit.signal);
    return `${serverText(gateway.base)} answers as "${name}", version ${version}`;
  });
  yield reached;
  if (reached.status !== "ok") {
    yield skipped("session", "the gateway is not available");
    return;
  }
  let me: Me | undefined;
  const session = await checked("session", async () => {
    const client = await connectGateway(io, options, "session");
    me = await client.me(limit.signal);
    const { subject, displayName } = me;
    signedIn.gateway = client;
    return `you are ${displayName ? `${displayName} (${subject})` : subject}`;
  });
  yield session;
  const { gateway: client } = signedIn;
  if (client && me && isDecidedByRbac(me)) {
    const caller = me;
    yield await checked(
      "authorization",
      async () => authorizationCheck(caller, await client.catalog(limit.signal)),
    );
  }
  const clock = gateway?.clock;
  yield checkClock("gateway clock", clock && { server: clock.gateway, ours: clock.ours });
}
