import { KubeError } from "../../common/kube/kube_error.ts";
import { isTrustFault, NoAnswerError } from "../../common/http/exchange.ts";

const WORDS: Record<string, string> = {
  Unauthorized: "the API server does not accept the credentials",
  Forbidden: "the account may not do that",
  NotFound: "the API server does not know it",
  Conflict: "another writer changed it at the same time",
  AlreadyExists: "it is there already",
  Invalid: "the API server refuses it as invalid",
  BadRequest: "the API server does not understand it",
  TooManyRequests: "the API server is overloaded",
  ServiceUnavailable: "the API server is not ready",
  InternalError: "the API server failed",
  RequestEntityTooLarge: "it is too large for the API server",
  DeadlineExceeded: "the API server did not answer in time",
  ConnectionLost: "the connection to the API server broke off",
  AnswerTooLarge: "the API server's answer is larger than any that it could need",
  InvalidAnswer: "the answer is not one of an API server",
};

/** Explains a failed call in our words, because upstream text may contain addresses or secrets. */
export function plainReason(error: unknown): string {
  if (!(error instanceof KubeError)) return "something unexpected happened";
  if (error.reason === "ConnectionFailed") return connectionReason(error.cause);
  return WORDS[error.reason] ?? `the API server answered ${error.status}`;
}

/** Names certificate and DNS faults separately, because the caller can fix these. */
function connectionReason(error: unknown): string {
  const fault = error instanceof NoAnswerError ? error.cause : undefined;
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : "";
  if (isTrustFault(fault)) return "its certificate is not trusted";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "its host name cannot be looked up";
  return "the API server cannot be reached";
}
