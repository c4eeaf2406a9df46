import assert from "node:assert/strict";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { chromiumBinary } from "../../../scripts/tools/chromium.ts";
import { noProgress } from "../../../scripts/tools/progress.ts";

/** The folder of screenshots for reviewers, ignored by git. */
const SCREENSHOTS = new URL("../../browser/screenshots", import.meta.url).pathname;

/** The timeout of each step in a page. It is long because the machine may be busy. */
const PATIENCE_MS = 30_000;

/** The sizes of the viewport. */
export const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 360, height: 740 },
} as const;

/** The host of the icons in test catalogs. Requests to it never leave the browser. */
export const ICON_HOST = "icons.example.org";
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">
<rect width="40" height="40" rx="9" fill="#1f7a8c"/>
<path d="M10 14c0-5 20-5 20 0v12c0 5-20 5-20 0zM10 14c0 5 20 5 20 0M10 20c0 5 20 5 20 0"
 fill="none" stroke="#fff" stroke-width="2"/></svg>`;

/** The options of a visit. */
export interface VisitOptions {
  /** The session cookie. Without it, the visitor is not signed in. */
  readonly session?: string;
  /** The fragment to open, or undefined if the test navigates itself. */
  readonly at?: string | undefined;
  readonly size?: keyof typeof SIZES;
  readonly scheme?: "light" | "dark";
  readonly reducedMotion?: boolean;
  /** The allowed origins besides the gateway's. */
  readonly origins?: readonly string[];
  /** The allowed errors in the console. */
  readonly complaints?: RegExp;
}

/** One page, and its requests and errors. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** `METHOD URL` of all requests, in order. */
  readonly requests: readonly string[];
  /** The errors so far. */
  readonly troubles: readonly string[];
}

/** One browser for the tests of a file. Each visit has its own cookies and storage. */
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
   * Runs a test on a page of this origin. Fails afterwards if the console has an error or a policy
   * violation, if a browser dialog opened, or if a request went to a host that is not allowed.
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
      // A handler that awaits an answer would fail after the end of its page.
      for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** Returns the cookie of a session at this origin. */
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

/** Saves a screenshot under this name. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}

/** Returns the serious accessibility violations that axe finds. The page must have no frames. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(MOTION_ENDED); // axe misreads colours during an animation
  const { violations, passes } = await new AxeBuilder({ page }).options(ONLY_VIOLATIONS)
    .setLegacyMode().analyze();
  assert.ok(passes.length > 0, "axe has checked nothing");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Describes only the nodes of violations; the rules that passed are still counted. */
const ONLY_VIOLATIONS = { resultTypes: ["violations" as const] };

const MOTION_ENDED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
  .map(({ finished }) => finished.catch(() => {})))`;
