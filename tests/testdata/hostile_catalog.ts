import { ICON_HOST } from "../support/peers/browser.ts";
import type { Group, Offer } from "../support/worlds/ui_world.ts";

const MARKUP = `<img src=x onerror="globalThis.wasHit=1"><script>globalThis.wasHit=1</script>`;
const UNBROKEN = "w".repeat(200);
/** Right-to-left text, and text with a right-to-left override. */
const RIGHT_TO_LEFT = "خدمة قواعد البيانات المُدارة";
const OVERRIDE = "\u202Eevil\u202D";
const LONG_NAME = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}`;
const LONG_API = `${"p".repeat(55)}.${"g".repeat(60)}.${"h".repeat(60)}.${"i".repeat(60)}`;

/** Addresses that a browser must neither open nor load. */
export const BAD_LINKS = [
  "javascript:globalThis.wasHit=1",
  " JaVa\tScRiPt:globalThis.wasHit=1",
  "data:text/html,<script>globalThis.wasHit=1</script>",
  "vbscript:msgbox(1)",
  "blob:https://example.org/1",
  "file:///etc/passwd",
  "/api/auth/logout",
  "//evil.example/x.svg",
];

/** Returns Exports with malicious texts, or with texts that do not fit a phone. */
export const hostileOffers = (gateway: string): Offer[] => [
  ...BAD_LINKS.map((url, index) => ({
    name: `link-${index}`,
    title: `Link ${index}`,
    icon: { url },
    docs: url,
    apis: ["widgets.example.org"],
  })),
  {
    name: "sign-out",
    title: "Sign-out by picture",
    icon: { url: `${gateway}/api/auth/logout` },
    apis: ["widgets.example.org"],
  },
  {
    name: "markup",
    title: MARKUP,
    description: `${MARKUP}</p></article></main><style>*{display:none}</style>{{7*7}}`,
    docs: `https://docs.example.org/"onmouseover="globalThis.wasHit=1`,
    icon: { url: `https://${ICON_HOST}/"onerror="globalThis.wasHit=1` },
    apis: ["widgets.example.org"],
  },
  {
    name: "unbroken",
    title: UNBROKEN,
    description: UNBROKEN.repeat(5),
    apis: ["widgets.example.org"],
    defaults: {
      relatedResources: [{
        resource: "secrets",
        direction: "FromConsumer",
        selector: { names: Array.from({ length: 20 }, (_, i) => `${"n".repeat(60)}${i}`) },
      }],
    },
  },
  { name: LONG_NAME, title: "Long name", apis: [LONG_API, "widgets.example.org"] },
  {
    name: "right-to-left",
    title: RIGHT_TO_LEFT,
    description: `${RIGHT_TO_LEFT} ${OVERRIDE} (v2)`,
    apis: ["widgets.example.org"],
  },
  { name: "override", title: `${OVERRIDE} service`, apis: ["widgets.example.org"] },
  { name: "blank", title: " ", description: "\n\n\n", apis: ["widgets.example.org"] },
  { name: "emoji", title: "🐘".repeat(100), apis: ["widgets.example.org"] },
];

/** Collections with the same texts. */
export const HOSTILE_GROUPS: readonly Group[] = [
  { name: "markup", title: MARKUP, description: MARKUP, exports: ["markup", "unbroken"] },
  { name: "unbroken", title: UNBROKEN, description: UNBROKEN, exports: [LONG_NAME, "blank"] },
  { name: "rtl", title: RIGHT_TO_LEFT, exports: ["right-to-left", "override"] },
];
