import { CATALOG_API_VERSION, IAM_API_VERSION } from "../../common/api/groups.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";

/** An object that our schemas would refuse, and its status, which is written separately. */
export interface Poison {
  readonly what: string;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
}

const API = { name: "widgets.example.org" };
const READY = { conditions: [{ type: "Ready", status: "True", reason: "AsExpected" }] };
const HUGE = "x".repeat(100_000);
/** Text with terminal escapes, right-to-left overrides and markup. */
export const ESCAPES =
  "\u001b[2J\u001b]0;evil\u0007\u202etxet\u202c\u0000\r\n<img src=x onerror=alert(1)>&amp;\"'`${x}";

const STATUSES: readonly unknown[] = [
  "text",
  7,
  [],
  { conditions: "text" },
  { conditions: { type: "Ready" } },
  { conditions: [null, 7, "x", [], {}] },
  { conditions: [{ type: "Ready", status: true }] },
  { conditions: [{ type: "Ready", status: "True", observedGeneration: "x" }] },
  { conditions: [{ type: 7, status: {} }], namespace: {}, serviceAccount: [], tokenSecret: 7 },
];

/** Malformed Exports, Ready where possible, so that only a check of their fields hides them. */
const POISON_EXPORTS: readonly Poison[] = [
  { what: "no spec", status: READY },
  { what: "a spec that is null", spec: null, status: READY },
  { what: "a spec that is text", spec: "text", status: READY },
  { what: "a spec that is a list", spec: [], status: READY },
  { what: "a title that is a number", spec: { title: 7, apis: [API] }, status: READY },
  { what: "no APIs", spec: { title: "a" }, status: READY },
  { what: "APIs that are null", spec: { title: "a", apis: null }, status: READY },
  { what: "APIs that are text", spec: { title: "a", apis: "text" }, status: READY },
  { what: "mixed APIs", spec: { title: "a", apis: [null, 7, [], {}, "x"] }, status: READY },
  { what: "an API that is a number", spec: { title: "a", apis: [{ name: 7 }] }, status: READY },
  { what: "a path as API", spec: { title: "a", apis: [{ name: "../../x" }] }, status: READY },
  { what: "an icon that is text", spec: { title: "a", apis: [API], icon: "x" }, status: READY },
  { what: "an icon that is null", spec: { title: "a", apis: [API], icon: null }, status: READY },
  {
    what: "an icon with a toString field",
    spec: { title: "a", apis: [API], icon: { url: { toString: "x" } }, docs: [] },
    status: READY,
  },
  ...["x", null, { relatedResources: "x" }, { relatedResources: [null, 7, {}, "x"] }, {
    relatedResources: [{ resource: 7, direction: {}, selector: "x" }],
  }, {
    relatedResources: [{
      resource: "secrets",
      direction: "FromProvider",
      selector: { names: 7, labelSelector: { matchLabels: [], matchExpressions: "x" } },
    }],
  }, {
    relatedResources: [{
      resource: "secrets",
      direction: "FromProvider",
      selector: { names: [7], labelSelector: { matchExpressions: [null, { key: 7 }] } },
    }],
  }].map((defaults, index) => ({
    what: `defaults ${index} of wrong types`,
    spec: { title: "a", apis: [API], defaults },
    status: READY,
  })),
  ...STATUSES.map((status, index) => ({
    what: `status ${index} of wrong types`,
    spec: { title: "a", apis: [API] },
    status,
  })),
];

/** Malformed Collections. */
const POISON_COLLECTIONS: readonly Poison[] = [
  undefined,
  null,
  "text",
  { title: 7, exports: [{ name: "widgets" }] },
  { title: "a" },
  { title: "a", exports: "text" },
  { title: "a", exports: [null, 7, {}, "x", { name: 7 }] },
].map((spec, index) => ({ what: `collection ${index}`, spec }));

const identity = { subject: "https://idp.example#poison" };
const goodGrant = { identity, exportName: "widgets", apis: [API] };

/** Malformed Grants, and Grants with malformed annotations. */
const POISON_GRANTS: readonly Poison[] = [
  { what: "no spec" },
  ...[
    null,
    "text",
    [],
    {},
    { ...goodGrant, identity: null },
    { ...goodGrant, identity: "x" },
    {
      ...goodGrant,
      identity: { subject: 7 },
    },
    { ...goodGrant, identity: { subject: "" } },
    {
      ...goodGrant,
      identity: { ...identity, displayName: {}, groups: "x" },
    },
    { ...goodGrant, exportName: 7 },
    { ...goodGrant, exportName: "" },
    { ...goodGrant, apis: 7 },
    {
      ...goodGrant,
      apis: null,
    },
    { ...goodGrant, apis: [null, 7, "x", {}, { name: 7 }, { name: "*.*" }] },
    {
      ...goodGrant,
      relatedResources: "x",
    },
    {
      ...goodGrant,
      relatedResources: [{ resource: "*", direction: "FromConsumer" }, {
        resource: "pods",
        direction: "FromConsumer",
      }],
    },
    {
      ...goodGrant,
      conflictPolicy: {},
    },
  ].map((spec, index) => ({ what: `spec ${index} of wrong types`, spec, status: READY })),
  ...STATUSES.map((status, index) => ({
    what: `status ${index} of wrong types`,
    spec: goodGrant,
    status,
  })),
  {
    what: "malformed annotations",
    spec: goodGrant,
    annotations: {
      [ANNOTATIONS.pickupSha256]: "x",
      [ANNOTATIONS.pickupExpiry]: "+275760-09-13T00:00:00.001Z",
      [ANNOTATIONS.pickupConsumed]: "",
      [ANNOTATIONS.boundAt]: "9999-99-99T99:99:99Z",
      [ANNOTATIONS.staleSince]: "-1",
      [ANNOTATIONS.wantedUntil]: "9999-12-31T23:59:59Z",
      "example.org/huge": HUGE,
    },
  },
];

/** The malformed objects of each kind. */
export const POISONED_KINDS = [
  { plural: "exports", apiVersion: CATALOG_API_VERSION, kind: "Export", poisons: POISON_EXPORTS },
  {
    plural: "collections",
    apiVersion: CATALOG_API_VERSION,
    kind: "Collection",
    poisons: POISON_COLLECTIONS,
  },
  { plural: "grants", apiVersion: IAM_API_VERSION, kind: "Grant", poisons: POISON_GRANTS },
] as const;
