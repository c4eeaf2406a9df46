import { join } from "node:path";
import type { ControlPlane } from "../controlplane/control_plane.ts";
import { say } from "../say.ts";
import { CONSUMER_OBJECTS, kubectl, PROVIDER_OBJECTS, ROOT } from "./install.ts";
import type { Running } from "./text.ts";

/** Checks that every object is there, then binds and sends a Widget through the whole loop. */
export async function check({ provider, consumer, backend }: Running): Promise<void> {
  await find(provider, PROVIDER_OBJECTS);
  await find(consumer, CONSUMER_OBJECTS);
  const { grant, bundle } = await bind(backend.url);
  await kubectl(consumer, ["apply", "-f", "-"], bundle);
  const bound = [`connection/${grant}`, `clusterbinding/${grant}`];
  await ready(consumer, ...bound);
  say(`Bound: ${grant}`);
  await find(consumer, ["secret/widgets-ca"]); // a related resource, copied from the provider
  await kubectl(consumer, ["apply", "-f", join(ROOT, "examples/widgets/widget.yaml")]);
  await ready(consumer, "widget/first");
  say(`On the provider:\n${await kubectl(provider, ["get", "widgets", "-n", "default"])}`);
  say(`On the consumer:\n${await kubectl(consumer, ["get", "widgets", "-n", "default"])}`);
}

const ready = (plane: ControlPlane, ...objects: string[]) =>
  kubectl(plane, ["wait", "--for=condition=Ready", "--timeout=30s", ...objects]);

async function find(plane: ControlPlane, objects: string[]): Promise<void> {
  const found = await kubectl(plane, ["get", "-o", "name", ...objects]);
  say(`Found on the ${plane.name}:\n${found.trim().replaceAll(/^/gm, "  ")}`);
}

/** Binds Widgets at the gateway, and picks the bundle up. */
async function bind(url: string): Promise<{ grant: string; bundle: string }> {
  const bound = await fetch(`${url}/api/bind`, {
    method: "POST",
    headers: { Cookie: await signIn(url) },
    body: JSON.stringify({ export: "widgets" }),
  });
  const result: { grant?: string; pickupURL?: string; error?: string } = await bound.json();
  if (!result.grant) throw new Error(`Cannot bind in the demo: ${result.error}`);
  const bundle = await fetch(`${url}${result.pickupURL}`);
  return { grant: result.grant, bundle: await bundle.text() };
}

/** Follows the redirects of a login with the cookies it gets, and returns the session's. */
async function signIn(url: string): Promise<string> {
  const jar = new Map<string, string>();
  let next = `${url}/api/auth/oidc/login`;
  for (let hops = 0; hops < 5 && !jar.has("xbind_session"); hops++) {
    const cookies = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(next, { redirect: "manual", headers: { Cookie: cookies } });
    await answer.body?.cancel();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    next = new URL(answer.headers.get("Location") ?? "/", next).href;
  }
  return `xbind_session=${jar.get("xbind_session") ?? ""}`;
}
