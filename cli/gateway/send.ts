import { connectThroughProxy } from "../../common/http/connect_through_proxy.ts";
import { deadline } from "../../common/time/deadline.ts";
import { exchangeText, NoAnswerError, type TextAnswer } from "../../common/http/exchange.ts";
import type { Environment } from "../../common/http/proxy_for.ts";
import { webConnections } from "../../common/http/web_connections.ts";
import type { Hidden } from "../../common/hidden.ts";
import { VERSION } from "../../common/version.ts";
import { type Asked, tooSlow, unanswered } from "./gateway_error.ts";

/** One request to a gateway. */
export interface GatewayRequest {
  readonly asked: Asked;
  readonly path: string;
  readonly accept: string;
  /** JSON; makes it a POST. */
  readonly body: string | undefined;
  readonly token: Hidden<string> | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** A complete answer. */
export interface GatewayAnswer {
  readonly status: number;
  readonly text: string;
  readonly date: Date | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly location: string | undefined;
}

/** Sends a request once, follows no redirect, and reads the whole answer. */
export const sendToGateway = async (
  base: URL,
  reach: { readonly caPem: string | undefined; readonly env: Environment | undefined },
  request: GatewayRequest,
  signal: AbortSignal,
): Promise<GatewayAnswer> => {
  const { asked, path, accept, body, token, timeoutMs, maxBytes } = request;
  const { caPem, env } = reach;
  using limit = deadline(timeoutMs, signal, tooSlow(asked, timeoutMs));
  using connections = webConnections(base, {
    caPem,
    proxy: env && { env, connect: connectThroughProxy },
  });
  try {
    return asAnswer(
      await exchangeText(base, connections, {
        method: body === undefined ? "GET" : "POST",
        path,
        headers: {
          Accept: accept,
          "User-Agent": `kubectl-bind/${VERSION}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(token ? { Authorization: `Bearer ${token.reveal()}` } : {}),
        },
        body,
      }, { maxBytes, signal: limit.signal }),
    );
  } catch (error) {
    throw error instanceof NoAnswerError ? unanswered(asked, error, base) : error;
  }
};

const asAnswer = ({ status, header, text }: TextAnswer): GatewayAnswer => {
  const date = new Date(header("date") ?? "");
  const retryAfter = header("retry-after") ?? "";
  return {
    status,
    text,
    date: Number.isNaN(date.getTime()) ? undefined : date,
    retryAfterSeconds: /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
    location: header("location"),
  };
};
