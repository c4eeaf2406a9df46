import { rfc3339 } from "../../common/api/times.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";

const DAY_MS = 86_400_000;
const MOST_WARNING_MS = 7 * DAY_MS;
/** Short-lived tokens are replaced more often, so the warning comes later. */
const LIFETIME_SHARE = 0.2;
const LONGEST_TOKEN = 16_384;

/** When a token expires, and when warnings start, in milliseconds since 1970. */
export interface Expiry {
  readonly endsAtMs: number;
  readonly warnsAtMs: number;
}

/** Reads when the token of a kubeconfig expires; undefined if that is unknown, or there is none. */
export function expiryOf({ auth }: Pick<KubeTarget, "auth">): Expiry | undefined {
  const token = auth.kind === "token" && "data" in auth.token ? auth.token.data : "";
  const { exp, iat } = claimsOf(token);
  if (!isSeconds(exp)) return undefined;
  const endsAtMs = exp * 1_000;
  const lifetimeMs = isSeconds(iat) && iat < exp ? endsAtMs - iat * 1_000 : Infinity;
  return { endsAtMs, warnsAtMs: endsAtMs - Math.min(MOST_WARNING_MS, lifetimeMs * LIFETIME_SHARE) };
}

/** Warns that a token expires soon, or has expired. Undefined before that. */
export function expiryNote({ endsAtMs, warnsAtMs }: Expiry, now: Date): string | undefined {
  if (now.getTime() < warnsAtMs) return undefined;
  const verb = now.getTime() < endsAtMs ? "expires" : "expired";
  return `The token in its kubeconfig ${verb} at ${
    rfc3339(endsAtMs)
  }; bind again, or renew the Secret`;
}

/** Returns how long to wait until the next change of that note, at most a day. */
export function nextLookMs({ endsAtMs, warnsAtMs }: Expiry, now: Date): number | undefined {
  const next = [warnsAtMs, endsAtMs].find((time) => time > now.getTime());
  return next === undefined ? undefined : Math.min(next - now.getTime() + 1_000, DAY_MS);
}

/** The signature is not checked: the token is our own, and its times only cause a warning. */
function claimsOf(token: string): Record<string, unknown> {
  const [, payload = ""] = token.length <= LONGEST_TOKEN ? token.split(".") : [];
  try {
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const claims: unknown = JSON.parse(text);
    return typeof claims === "object" && claims !== null ? { ...claims } : {};
  } catch {
    return {}; // not every token is a JWT
  }
}

const isSeconds = (value: unknown): value is number =>
  typeof value === "number" && value > 0 && value < 8.64e12;
