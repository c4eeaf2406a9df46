/** The plain pages of this version; no script, no style, nothing from elsewhere. */
const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`;

/** `GET /login` */
export const LOGIN_PAGE = page(
  "Sign in to xbind",
  '<p><a href="/api/auth/oidc/login">Sign in with your identity provider</a></p>',
);

/** `GET /` */
export const INDEX_PAGE = page(
  "xbind",
  `<p>This provider offers Kubernetes APIs as a service.</p>
<ul>
<li><a href="/login">Sign in</a></li>
<li><a href="/api/catalog">Catalog</a>, <a href="/api/clusters">clusters</a>,
<a href="/api/openapi.json">HTTP API</a> (JSON, signed in)</li>
<li><a href="/api/auth/logout">Sign out</a></li>
</ul>`,
);
