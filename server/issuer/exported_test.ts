import assert from "node:assert/strict";
import { CRDS, type ObjectMeta } from "../../common/api/resources.ts";
import { Cache } from "../../common/kube/cache.ts";
import { metadataObjects } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { isExported } from "./exported.ts";

/** A cache that knows one CRD. */
function crdsWith(crd: Partial<ObjectMeta>): Cache<MetadataObject> {
  const crds = new Cache(metadataObjects(CRDS));
  const metadata = { name: "widgets.example.org", resourceVersion: "1", uid: "1", ...crd };
  crds.learn({ metadata }, FIELD_MANAGERS.crds);
  return crds;
}

const labels = { [LABELS.exported]: "true" };

Deno.test("isExported() wants a CRD with the label", async (t) => {
  const table: [string, Partial<ObjectMeta>, string, boolean][] = [
    ["labelled", { labels }, "widgets.example.org", true],
    ["unlabelled", {}, "widgets.example.org", false],
    ["with another value", { labels: { [LABELS.exported]: "True" } }, "widgets.example.org", false],
    ["another one", { labels }, "gadgets.example.org", false],
    [
      "going away",
      { labels, deletionTimestamp: "2030-01-01T00:00:00Z" },
      "widgets.example.org",
      false,
    ],
    ["of ours", { name: "grants.iam.xbind.io", labels }, "grants.iam.xbind.io", false],
    ["of a wildcard", { name: "*.example.org", labels }, "*.example.org", false],
    ["without a group", { name: "widgets", labels }, "widgets", false],
  ];
  for (const [what, crd, api, expected] of table) {
    await t.step(what, () => assert.equal(isExported({ crds: crdsWith(crd) }, api), expected));
  }
});
