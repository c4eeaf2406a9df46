import type { NoAnswerError } from "../../common/http/exchange.ts";
import { CliError, type Failure } from "../cli_error.ts";
import { safeText } from "../terminal/safe_text.ts";

/** A request to a gateway, in words for error messages. */
export interface Asked {
  /** Such as `list the catalog`. */
  readonly what: string;
  /** The gateway's URL, as it is shown. */
  readonly server: string;
  /** Whether the token came from `XBIND_TOKEN`. */
  readonly tokenFromEnv?: boolean;
}

/** The parts of a refusal that errors show. */
export interface Refusal {
  readonly status: number;
  /** The gateway's own message, when it sent one in its one JSON form. */
  readonly error?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly location?: string | undefined;
  /** The meaning of a 404 of this call; absent when it means a wrong address. */
  readonly missing?: string | undefined;
}

/** A failed call to the gateway; `status` is that of the answer, if one arrived. */
export class GatewayError extends CliError {
  override readonly name = "GatewayError";
  readonly status: number | undefined;
  /** The gateway's `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    failure: Failure,
    asked: Asked,
    reason: string,
    remedy: string,
    answer: Partial<Refusal> & ErrorOptions = {},
  ) {
    super(failure, `Cannot ${asked.what} at ${asked.server}: ${reason}`, remedy, answer);
    this.status = answer.status;
    this.retryAfterSeconds = answer.retryAfterSeconds;
  }
}

/** Builds the error for an answer other than 200. */
export const refusedBy = (asked: Asked, refusal: Refusal): GatewayError => {
  const { status, error, missing } = refusal;
  const said = error === undefined ? undefined : reasonIn(error);
  const reason = said || `it answered ${status}`;
  const fail = (failure: Failure, why: string, remedy: string) =>
    new GatewayError(failure, asked, why, remedy, refusal);
  if (status === 401) {
    return fail("loginNeeded", "the session has ended or is not valid", loginRemedy(asked));
  }
  if (status === 404 && said && missing) {
    return fail("notFound", missing, "List all Exports: kubectl bind catalog");
  }
  if (status === 403 && said) return fail("failure", said, ASK_FOR_PERMISSION);
  if (status === 410) {
    return fail("pickupGone", said || "the pickup was used, replaced or is too old", BIND_AGAIN);
  }
  if (status === 504) {
    return fail("timeout", said || "the provider did not finish in time", TRY_AGAIN_SAFELY);
  }
  if (status >= 300 && status < 400) {
    // Show only the origin: the rest of the URL may hold secrets.
    const target = URL.parse(refusal.location ?? "", asked.server)?.origin ?? "null";
    const to = target === "null" ? "" : ` to ${target.slice(0, 200)}`;
    return fail("failure", `it redirects${to}, which is not followed`, CHECK_ADDRESS);
  }
  if (status === 429 || status === 503) return fail("failure", reason, tryLater(refusal));
  if (said === undefined && status < 500) return fail("failure", reason, CHECK_ADDRESS);
  return fail("failure", reason, "Try again; if it goes on, ask the provider");
};

/**
 * Removes the gateway's own "Cannot …:", because our message already names the attempt. Returns one
 * safe line, because programs that use this client log it.
 */
const reasonIn = (error: string): string =>
  safeText(error).slice(0, 500).replace(/^Cannot [^:]{1,300}: /, "");

/** Builds the error for an answer that did not arrive, or not in full. */
export const unanswered = (asked: Asked, error: NoAnswerError, base: URL): GatewayError => {
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const [reason = error.message, remedy = NETWORK_REMEDY] = FAULTS[code]?.(base) ?? [];
  return new GatewayError("failure", asked, reason, remedy, { cause: error });
};

/** Builds the error for an answer that took too long. */
export const tooSlow = (asked: Asked, ms: number): GatewayError =>
  new GatewayError("timeout", asked, `no answer within ${ms / 1000} s`, NETWORK_REMEDY);

/** Builds the error for an answer that no gateway sends. */
export const misshapen = (asked: Asked, fault: string): GatewayError =>
  new GatewayError("failure", asked, `its answer is not a gateway's: ${fault}`, CHECK_ADDRESS);

/** Says how to log in to this gateway. */
export const loginRemedy = ({ server, tokenFromEnv }: Omit<Asked, "what">): string =>
  tokenFromEnv
    ? `Put a valid token into XBIND_TOKEN, or unset it and run: kubectl bind login ${server}`
    : `Run: kubectl bind login ${server}`;

/** Says who can help after a refusal by RBAC. */
export const ASK_FOR_PERMISSION =
  "Ask the provider for the permission; kubectl bind doctor shows the RBAC it would add";
const BIND_AGAIN = "Run the command again: it asks for a new pickup";
const TRY_AGAIN_SAFELY = "Run the command again: what was begun is kept, nothing is made twice";
const CHECK_ADDRESS = "Check the gateway's address (--server, XBIND_SERVER) with the provider";
const NETWORK_REMEDY =
  "Check the address, the network and HTTPS_PROXY, then run: kubectl bind doctor";

const tryLater = ({ retryAfterSeconds }: Refusal): string =>
  retryAfterSeconds === undefined ? "Try again later" : `Try again in ${retryAfterSeconds} s`;

type Fault = (base: URL) => readonly [reason: string | undefined, remedy: string];

const untrusted: Fault = () => [
  undefined,
  "If the gateway has a private authority, give its certificate: --ca-file <file>",
];

/** Error codes of the runtime with a better remedy than "check the network". */
const FAULTS: Readonly<Record<string, Fault>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: () => [undefined, "Ask the provider to renew it, and check your clock"],
  CERT_NOT_YET_VALID: () => [undefined, "Check your clock"],
  ERR_TLS_CERT_ALTNAME_INVALID: ({ hostname }) => [
    `the server's certificate is not for "${hostname}"`,
    "Use the address that the certificate names, as the provider told you",
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: ({ host, pathname }) => [
    "it does not speak TLS",
    `If it is meant to be unencrypted, use http://${host}${pathname.replace(/\/$/, "")}`,
  ],
};
