import { readProvider } from "./api.ts";
import { loginRequest } from "./logic/login_url.ts";

// The page works without this script, which adds the provider's name, the reason and the way back.

const { signInUrl, message } = loginRequest(location.search);
document.querySelector("#sign-in")?.setAttribute("href", signInUrl);
const notice = document.querySelector<HTMLElement>("#message");
if (notice && message) {
  notice.textContent = message;
  notice.hidden = false;
}

try {
  const { name } = await readProvider(new AbortController().signal);
  document.title = `Sign in · ${name}`;
  const heading = document.querySelector("#provider");
  if (heading) heading.textContent = `Sign in to ${name}`;
} catch {
  // Keep the plain heading.
}
