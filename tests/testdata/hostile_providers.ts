import { sleep } from "../../common/time/wait.ts";
import {
  exportedCrd,
  type HostileAnswers,
  type JsonText,
  plainCrd,
  watchLine,
} from "../support/peers/hostile_provider.ts";

/** A provider that attacks the konnectors of its consumers. */
export interface HostileProvider {
  readonly what: string;
  readonly answers: HostileAnswers;
  /** How many of its APIs are bound; one by default. */
  readonly apis?: number;
  /** What of it is copied to the consumer; nothing by default. */
  readonly copies?: "secrets" | "configmaps";
  /** The reason that `Ready` has in the end, on its Connection or its binding. */
  readonly ends: readonly ["Connection" | "ClusterBinding", reason: string];
}

const MIB = 1024 * 1024;
const PAUSE_MS = 10;
const CHUNK = "x".repeat(MIB);
const HUNDRED_MIB: JsonText = ['"', ...Array.from({ length: 100 }, () => CHUNK), '"'];
const WRONG: readonly string[] = ["null", "7", '"text"', "[]", "{}", '{"spec":7}', '{"spec":null}'];
const WRONG_METADATA: readonly unknown[] = [
  undefined,
  null,
  7,
  { name: 7 },
  { name: { toString: 7 } },
  { name: "../../../etc/passwd", labels: { "core.xbind.io/exported": "true" } },
  { name: "a.b", labels: "text", annotations: [], finalizers: {}, generation: "x", uid: {} },
  { name: "__proto__", labels: { "core.xbind.io/exported": "true" } },
  { name: `${"n".repeat(300)}.example.org`, labels: { "core.xbind.io/exported": "true" } },
];

/** Changes a plain CRD. */
const changed = (change: (crd: ReturnType<typeof JSON.parse>) => void) => (name: string) => {
  const crd = JSON.parse(plainCrd(name));
  change(crd);
  return JSON.stringify(crd);
};

/** A schema with a property that the change sets. */
const withProperty = (property: object) =>
  changed((crd) => {
    const { openAPIV3Schema } = crd.spec.versions[0].schema;
    openAPIV3Schema.properties = { spec: { type: "object", properties: { a: property } } };
  });

const fromCrds = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `many${index}s.crowd.example.org`);

/** Sends forever, with pauses so that other tests get their share of the machine. */
const endless =
  (text: (nth: number) => string, atOnce = 1): NonNullable<HostileAnswers["inCrdWatch"]> =>
  async (send) => {
    for (let nth = 0; await send(text(nth)); nth++) {
      if (nth % atOnce === 0) await sleep(PAUSE_MS);
    }
  };

/** The metadata of a Secret or ConfigMap in a namespace that is copied. */
const relatedObject = (name: string) => ({
  metadata: { name, namespace: "default", uid: name, resourceVersion: "5" },
});

/** One more than are copied. */
const MORE_THAN_COPIED = 10_001;

/** Lines of a watch with this many ConfigMaps. */
const configMaps = (prefix: string, count: number): string =>
  Array.from({ length: count }, (_, index) => relatedObject(`${prefix}x${index}`))
    .map((object) => watchLine("ADDED", object)).join("");

/** When the konnector read the ConfigMap that only the watch has. */
export const ghostReads: number[] = [];

/** Hostile providers, each with what a consumer sees of it. */
export const HOSTILE_PROVIDERS: readonly HostileProvider[] = [
  {
    what: "a watch with a line that has no end",
    answers: { inCrdWatch: endless(() => CHUNK) },
    ends: ["Connection", "ProviderUnreachable"],
  },
  {
    what: "a watch of objects with a line that has no end",
    answers: { inObjectWatch: endless(() => CHUNK) },
    ends: ["ClusterBinding", "Pending"],
  },
  {
    what: "a watch of Secrets with a line that has no end",
    copies: "secrets",
    answers: { inRelatedWatch: endless(() => CHUNK) },
    ends: ["ClusterBinding", "Pending"],
  },
  {
    what: "a watch with ConfigMaps without end",
    copies: "configmaps",
    answers: {
      inRelatedWatch: async (send) => {
        await send(configMaps("many", MORE_THAN_COPIED));
        await endless((nth) => configMaps(`c${nth}`, 10))(send, 1);
      },
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "a ConfigMap that is in the watch, but cannot be read",
    copies: "configmaps",
    answers: {
      inRelatedWatch: (send) => send(watchLine("ADDED", relatedObject("ghost"))),
      related: () => {
        ghostReads.push(performance.now());
        return "{}";
      },
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "a Secret of 100 MB",
    copies: "secrets",
    answers: {
      inRelatedWatch: (send) => send(watchLine("ADDED", relatedObject("huge"))),
      related: () => HUNDRED_MIB,
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "a watch with CRDs without end",
    answers: {
      inCrdWatch: endless(
        (nth) => watchLine("ADDED", exportedCrd(`c${nth}s.crowd.example.org`)),
        500,
      ),
    },
    ends: ["Connection", "ProviderUnreachable"],
  },
  {
    what: "pages of lists without end",
    answers: {
      pages: (nth) =>
        Array.from(
          { length: 500 },
          (_, index) => exportedCrd(`p${nth}x${index}s.crowd.example.org`),
        ),
    },
    ends: ["Connection", "ProviderUnreachable"],
  },
  {
    what: "pages of lists without objects and without end",
    answers: { pages: () => [] },
    ends: ["Connection", "Pending"],
  },
  {
    what: "1,000 exported CRDs",
    answers: { exports: fromCrds(1_000) },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "a CRD of 5 MB",
    answers: {
      crd: changed((crd) => {
        crd.spec.versions[0].schema.openAPIV3Schema.description = "x".repeat(5 * MIB);
      }),
    },
    ends: ["ClusterBinding", "Rejected"],
  },
  {
    what: "a CRD of 100 MB",
    answers: { crd: () => HUNDRED_MIB },
    ends: ["ClusterBinding", "Rejected"],
  },
  {
    what: "CRD reads that are never answered",
    apis: 8,
    answers: { crd: () => undefined },
    ends: ["ClusterBinding", "Pending"],
  },
  ...WRONG.map((text, index): HostileProvider => ({
    what: `the CRD ${text}`,
    answers: { crd: () => text, exports: [`other${index}s.wrong.example.org`] },
    ends: ["ClusterBinding", "Rejected"],
  })),
  {
    what: "a CRD with versions of wrong types",
    answers: {
      crd: changed((crd) => void (crd.spec.versions = [null, 7, [], { name: 7, served: true }])),
    },
    ends: ["ClusterBinding", "Rejected"],
  },
  {
    what: "a CRD that the consumer refuses",
    answers: { crd: withProperty({ type: "no such type" }) },
    ends: ["ClusterBinding", "SchemaIncompatible"],
  },
  {
    what: "a CRD with an expensive rule",
    answers: {
      crd: withProperty({
        type: "array",
        items: { type: "array", items: { type: "string" } },
        "x-kubernetes-validations": [{
          rule: "self.all(a, self.all(b, a.all(c, b.all(d, c.matches(d)))))",
        }],
      }),
    },
    ends: ["ClusterBinding", "SchemaIncompatible"],
  },
  {
    what: "metadata of wrong types in a watch",
    answers: {
      inCrdWatch: async (send) => {
        for (const metadata of WRONG_METADATA) await send(watchLine("ADDED", { metadata }));
        for (const metadata of WRONG_METADATA) await send(watchLine("DELETED", { metadata }));
      },
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "lines of wrong types in a watch",
    answers: {
      inCrdWatch: async (send, nth) => {
        const line = ["null", "7", "[]", "{", '{"type":7}', '{"type":"ADDED"}'][nth - 1];
        if (line) await send(`${line}\n`);
      },
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  {
    what: "copies of wrong types",
    answers: {
      inObjectWatch: async (send) => {
        for (const metadata of WRONG_METADATA) await send(watchLine("ADDED", { metadata }));
      },
    },
    ends: ["ClusterBinding", "AsExpected"],
  },
  ...WRONG.slice(0, 5).map((text): HostileProvider => ({
    what: `the answer ${text} to an apply`,
    answers: { applied: () => text },
    ends: ["ClusterBinding", "AsExpected"],
  })),
  {
    what: "an identity of 1 MB",
    answers: { uid: CHUNK },
    ends: ["Connection", "ProviderUnreachable"],
  },
  {
    what: "an identity of the wrong type",
    answers: { uid: { toString: 7 } },
    ends: ["Connection", "ProviderUnreachable"],
  },
];
