import assert from "node:assert/strict";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { chromiumBinary } from "../../../scripts/tools/chromium.ts";
import { noProgress } from "../../../scripts/tools/progress.ts";

/** Where tests put pictures for people to look at; git ignores it. */
const SCREENSHOTS = new URL("../../browser/screenshots", import.meta.url).pathname;

/** How long anything in a page may take: the machine may be busy with other tests. */
const PATIENCE_MS = 30_000;

/** The sizes that a page is looked at. */
export const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 360, height: 740 },
} as const;

/** Host of the pictures in catalogs of tests; nothing is ever sent there. */
export const ICON_HOST = "icons.example.org";
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">
<rect width="40" height="40" rx="9" fill="#1f7a8c"/>
<path d="M10 14c0-5 20-5 20 0v12c0 5-20 5-20 0zM10 14c0 5 20 5 20 0M10 20c0 5 20 5 20 0"
 fill="none" stroke="#fff" stroke-width="2"/></svg>`;

/** How a page is visited. */
export interface VisitOptions {
  /** Value of the session cookie; without one nobody is signed in. */
  readonly session?: string;
  /** The fragment to open; undefined where the test navigates by itself. */
  readonly at?: string | undefined;
  readonly size?: keyof typeof SIZES;
  readonly scheme?: "light" | "dark";
  readonly reducedMotion?: boolean;
  /** Origins besides the gateway's that the browser is sent to. */
  readonly origins?: readonly string[];
  /** What the console may complain about. */
  readonly complaints?: RegExp;
}

/** One page, and what it did that tests look at. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** `METHOD URL` of all requests, in order. */
  readonly requests: readonly string[];
  /** Complaints of the console and the like, so far. */
  readonly troubles: readonly string[];
}

/** One browser for the tests of a file; each visit has cookies and storage of its own. */
export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<TestBrowser> {
    return new TestBrowser(
      await chromium.launch({
        executablePath: await chromiumBinary(noProgress),
        args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
      }),
    );
  }

  /**
   * Runs a test on a page of this origin. Fails after it when there was an error or a violation of
   * the policy in the console, a dialog of the browser, or a request to a host that is not named.
   */
  async visit(
    origin: string,
    options: VisitOptions,
    test: (visit: Visit) => Promise<void>,
  ): Promise<void> {
    const context = await this.#browser.newContext({
      baseURL: origin,
      viewport: SIZES[options.size ?? "desktop"],
      colorScheme: options.scheme ?? "light",
      reducedMotion: options.reducedMotion ? "reduce" : "no-preference",
      hasTouch: options.size === "phone",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    try {
      context.setDefaultTimeout(PATIENCE_MS);
      if (options.session) await context.addCookies([sessionCookie(origin, options.session)]);
      const visit = await watched(context, origin, options);
      if (options.at !== undefined) await visit.page.goto(`/${options.at}`);
      await test(visit).catch(async (error) => {
        await visit.page.screenshot({ path: join(SCREENSHOTS, "last_failure.png") });
        throw error;
      });
      assert.deepEqual(visit.troubles, []);
    } finally {
      await context.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** The cookie of a session at this origin. */
export const sessionCookie = (origin: string, value: string) => ({
  name: "xbind_session",
  value,
  url: origin,
  httpOnly: true,
  sameSite: "Lax" as const,
});

async function watched(
  context: BrowserContext,
  origin: string,
  { origins = [], complaints }: VisitOptions,
): Promise<Visit> {
  const requests: string[] = [];
  const troubles: string[] = [];
  const page = await context.newPage();
  page.on("pageerror", (error) => troubles.push(`uncaught: ${error}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (message.type() !== "error" || complaints?.test(message.text())) return;
    troubles.push(`console: ${message.text()}`);
  });
  await context.addInitScript({
    content: `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error("policy: " + violatedDirective + " " + blockedURI));`,
  });
  context.on("request", (request) => {
    requests.push(`${request.method()} ${request.url()}`);
    const { protocol, origin: to, hostname } = new URL(request.url());
    const isOwn = to === origin || origins.includes(to) || ["data:", "blob:"].includes(protocol);
    const isIcon = hostname === ICON_HOST && request.resourceType() === "image";
    if (!isOwn && !isIcon) troubles.push(`request: ${request.url()}`);
  });
  await context.route((url) => url.hostname === ICON_HOST, async (route) => {
    const isBroken = route.request().url().includes("broken");
    await route.fulfill({ contentType: "image/svg+xml", body: isBroken ? "no picture" : ICON });
  });
  return { page, context, requests, troubles };
}

/** Keeps a picture of what is to be seen under this name. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}

/** What axe finds that keeps people from using the page, which has no frames. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(MOTION_ENDED); // half-drawn colours are hard to read
  const { violations, passes } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  assert.ok(passes.length > 0, "axe has looked at nothing");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const MOTION_ENDED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
  .map(({ finished }) => finished.catch(() => {})))`;
