import { createHash } from "node:crypto";

/** Removes the token from the address bar and the history. */
const SCRIPT = 'history.replaceState(null,"","/")';
const STYLE = "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;" +
  "padding:0 1rem;color-scheme:light dark}";

const hashOf = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Headers that allow only the page's own script and style. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; script-src ${hashOf(SCRIPT)}; ` +
    `style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  Connection: "close",
};

const page = (title: string, text: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<script>${SCRIPT}</script>
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
<p>${text}</p>
</main></body>
</html>
`;

/** The page after a login. */
export const DONE_PAGE = page(
  "You are logged in",
  "Go back to your terminal. You may close this page.",
);

/** The page when the gateway refuses the token. */
export const REFUSED_PAGE = page(
  "You are not logged in",
  "The gateway did not accept the session. Go back to your terminal and try again. " +
    "You may close this page.",
);
