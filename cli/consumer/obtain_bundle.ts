import { Backoff } from "../../common/time/backoff.ts";
import { sleep } from "../../common/time/wait.ts";
import { CliError } from "../cli_error.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError } from "../gateway/gateway_error.ts";
import type { Io } from "../terminal/io.ts";
import { serverText } from "../gateway/server_url.ts";
import { spinner } from "../terminal/spinner.ts";
import { checkBundle, type CheckedBundle } from "./check_bundle.ts";

const BIND_BACKOFF = { baseMs: 500, capMs: 5_000 };

/** Binds an Export, downloads its bundle, and returns it once it has passed the checks. */
export async function obtainBundle(
  io: Io,
  gateway: GatewayClient,
  exportName: string,
  signal: AbortSignal,
): Promise<CheckedBundle> {
  io.say(`Binding Export "${exportName}" at ${serverText(gateway.base)}`);
  using _spinner = spinner(io, "waiting for the provider");
  return await patiently(io, async () => {
    // Bind again before each pickup: a failed pickup may be used up.
    const result = await gateway.bind(exportName, signal);
    return checkBundle(await gateway.pickup(result, signal), result.grant);
  }, signal);
}

/** Retries until the time is up; the provider continues the bind that it began. */
async function patiently<T>(io: Io, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const backoff = new Backoff(BIND_BACKOFF);
  let last: GatewayError | undefined;
  try {
    while (true) {
      try {
        return await ask();
      } catch (error) {
        if (!isWorthAnotherTry(error)) throw error;
        io.say(`${error.message}; asking again`);
        last = error;
      }
      const { retryAfterSeconds } = last;
      await sleep(retryAfterSeconds ? retryAfterSeconds * 1000 : backoff.next(), signal);
    }
  } catch (error) {
    const isLate = last && error instanceof CliError && error === signal.reason;
    if (!isLate) throw error;
    throw new CliError("timeout", `${error.message}: ${last?.message}`, error.remedy, {
      cause: last,
    });
  }
}

const isWorthAnotherTry = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && (error.status === 504 || error.status === 503);
