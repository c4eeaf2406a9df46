import type {
  ApplyRequest,
  ApplyResult,
  BindRequest,
  BindResult,
  Catalog,
  Clusters,
  ErrorBody,
  Instances,
  Me,
  ProviderInfo,
} from "../common/api/wire.ts";
import { loginUrl } from "./logic/login_url.ts";
import { titledCatalog } from "./logic/titled_catalog.ts";

/** Carries a message for the user; status 0 means that no answer came. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Holds an inventory with its ETag. */
export interface Tagged<T> {
  readonly data: T;
  readonly etag: string;
}

/** Holds a picked-up bundle. */
export interface PickedUp {
  readonly fileName: string;
  readonly yaml: string;
}

/** Is a little longer than the gateway's own timeout, so that its error message arrives. */
const READ_MS = 20_000;
const BIND_MS = 45_000;
const APPLY_MS = 120_000;

let wasSignedIn = false;
let clockAheadMs = 0;

/** Returns the gateway's time, because a wrong local clock must not end a countdown early. */
export const gatewayNow = (): number => Date.now() - clockAheadMs;

/** Calls `GET /api/provider`. */
export const readProvider = async (
  signal: AbortSignal,
): Promise<ProviderInfo> => await (await send("/api/provider", {}, READ_MS, signal)).json();

/** Calls `GET /api/me`. */
export async function readMe(signal: AbortSignal): Promise<Me> {
  const answer = await send("/api/me", {}, READ_MS, signal);
  wasSignedIn = true;
  return await answer.json();
}

/** Calls `GET /api/catalog`; returns undefined if the caller has the current version. */
export async function readCatalog(known: string | undefined, signal: AbortSignal) {
  const read = await readTagged<Catalog>("/api/catalog", known, signal);
  return read && { ...read, data: titledCatalog(read.data) };
}

/** Calls `GET /api/clusters`; returns undefined if the caller has the current version. */
export const readClusters = (known: string | undefined, signal: AbortSignal) =>
  readTagged<Clusters>("/api/clusters", known, signal);

/** Calls `GET /api/catalog/{export}/instances`. */
export async function readInstances(name: string, signal: AbortSignal): Promise<Instances> {
  const path = `/api/catalog/${encodeURIComponent(name)}/instances`;
  return await (await send(path, {}, READ_MS, signal)).json();
}

/** Calls `POST /api/bind`. */
export async function bindExport(name: string, signal: AbortSignal): Promise<BindResult> {
  const request: BindRequest = { export: name };
  return await (await send("/api/bind", post(request), BIND_MS, signal)).json();
}

/** Calls `GET /api/bundle/{token}`, which works once, even if the answer is lost. */
export async function pickUp(pickupUrl: string, signal: AbortSignal): Promise<PickedUp> {
  const answer = await send(pickupUrl, { cache: "no-store" }, READ_MS, signal);
  const [, fileName] = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "") ??
    [];
  return { fileName: fileName ?? "bundle.yaml", yaml: await answer.text() };
}

/** Calls `POST /api/apply`. */
export async function apply(request: ApplyRequest, signal: AbortSignal): Promise<ApplyResult> {
  return await (await send("/api/apply", post(request), APPLY_MS, signal))
    .json();
}

/** Ends the session, and goes to the login page. */
export async function signOut(): Promise<void> {
  try {
    await fetch("/api/auth/logout", { redirect: "manual" });
    location.assign("/login?reason=signed-out");
  } catch {
    location.assign("/api/auth/logout"); // the browser shows why the gateway cannot be reached
  }
}

async function readTagged<T>(
  path: string,
  known: string | undefined,
  signal: AbortSignal,
): Promise<Tagged<T> | undefined> {
  // The browser revalidates its cached answer; an unchanged one is neither sent nor parsed again.
  const answer = await send(path, {}, READ_MS, signal);
  const etag = answer.headers.get("ETag") ?? "";
  if (etag !== "" && etag === known) {
    await answer.body?.cancel();
    return undefined;
  }
  return { data: await answer.json(), etag };
}

const post = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

async function send(
  path: string,
  init: RequestInit,
  limitMs: number,
  signal: AbortSignal,
): Promise<Response> {
  const limit = AbortSignal.timeout(limitMs);
  let answer: Response;
  try {
    answer = await fetch(path, {
      ...init,
      signal: AbortSignal.any([signal, limit]),
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new ApiError(
      0,
      limit.aborted ? "The gateway did not answer in time" : "The gateway cannot be reached",
    );
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  if (!Number.isNaN(date) && !answer.headers.has("Age")) clockAheadMs = aheadOf(date);
  if (answer.ok) return answer;
  if (answer.status === 401) return await leaveForLogin();
  throw new ApiError(answer.status, await messageOf(answer));
}

/** Returns how far our clock is ahead. Ignores small differences: the header has whole seconds. */
const aheadOf = (date: number): number => {
  const aheadMs = Date.now() - date;
  return Math.abs(aheadMs) < 3_000 ? 0 : aheadMs;
};

async function messageOf(answer: Response): Promise<string> {
  const body: Partial<ErrorBody> = await answer.json().catch(() => ({}));
  return typeof body?.error === "string" && body.error !== ""
    ? body.error
    : `The gateway answered with status ${answer.status}`;
}

/** Goes to the login page, which leads back here. Never settles, as the page unloads. */
function leaveForLogin(): Promise<never> {
  location.replace(loginUrl(location.hash, wasSignedIn ? "expired" : undefined));
  return new Promise(() => {});
}
