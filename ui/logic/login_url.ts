/** Says why the login page is shown. */
export type LoginReason = "expired" | "signed-out";

/** Returns the URL of the login page that leads back to this fragment of the app. */
export function loginUrl(fragment: string, reason: LoginReason | undefined): string {
  const query = new URLSearchParams();
  if (reason) query.set("reason", reason);
  if (fragment.length > 1) query.set("redirect", `/${fragment}`);
  const text = query.toString();
  return text ? `/login?${text}` : "/login";
}

/** Returns the sign-in link for the login page, and the reason why it is shown. */
export function loginRequest(search: string): { signInUrl: string; message: string } {
  const query = new URLSearchParams(search);
  const redirect = query.get("redirect") ?? "";
  // Accept only a path of this gateway; the gateway checks it again.
  const isLocal = /^\/(?![/\\])/.test(redirect);
  return {
    signInUrl: isLocal
      ? `/api/auth/oidc/login?${new URLSearchParams({ redirect })}`
      : "/api/auth/oidc/login",
    message: MESSAGES.get(query.get("reason")) ?? "",
  };
}

const MESSAGES = new Map<string | null, string>([
  ["expired", "Your session has ended. Sign in to continue where you left off."],
  [
    "signed-out",
    "You are signed out. Credentials that you have bound keep working in your clusters.",
  ],
]);
