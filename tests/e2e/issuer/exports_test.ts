import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  condition,
  CRDS,
  type Export,
  EXPORTS,
  isReady,
  type RelatedResource,
} from "../../../common/api/resources.ts";
import { LABELS } from "../../../common/api/names.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube, plane } = world;

const stored = ({ metadata: { name } }: Export): Promise<Export> => kube.get(EXPORTS, { name });

const ready = (offer: Export): Promise<Export> =>
  eventually(`Export ${offer.metadata.name} is Ready`, async () => {
    const found = await stored(offer);
    assert.ok(isReady(found), JSON.stringify(found.status));
    return found;
  });

const unready = async (offer: Export, ...missing: string[]): Promise<void> => {
  const { message } = await world.unready(
    EXPORTS,
    offer,
    "APINotExported",
    new RegExp(`: ${missing.join(", ")}$`),
  );
  const label = "core.xbind.io/exported=true";
  assert.equal(
    message,
    `These CRDs are missing or lack the label ${label}: ${missing.join(", ")}`,
  );
};

Deno.test("issuer() updates an Export when its CRDs change", async () => {
  const [one, two] = ["ones.example.org", "twos.example.org"];
  const offer = await world.offer("follows", [one, WIDGETS, two]);
  await unready(offer, one, two);
  await world.define(two);
  await unready(offer, one);
  await world.define(one, {});
  await unready(offer, one);
  await world.label(one, "true");
  const was = condition(await ready(offer), "Ready");
  assert.equal(was?.reason, "AsExpected");
  assert.equal(was?.message, "All APIs can be bound");

  await world.label(one, "yes");
  await unready(offer, one);
  await world.label(one, null);
  await world.label(two, null);
  await unready(offer, one, two);
  await world.label(one, "true");
  await world.label(two, "true");
  await ready(offer);
  await kube.delete(CRDS, { name: two });
  await unready(offer, two);
  await world.define(two);
  await ready(offer);
});

Deno.test("issuer() updates the status of an Export that changes", async () => {
  const offer = await world.offer("changes", ["missing.example.org"]);
  await unready(offer, "missing.example.org");
  const change = (patch: object) => world.edit(EXPORTS, offer.metadata, patch);
  await change({ spec: { apis: [{ name: WIDGETS }] } });
  const now = await ready(offer);
  assert.equal(condition(now, "Ready")?.observedGeneration, 2);
  const since = condition(now, "Ready")?.lastTransitionTime;
  await change({ spec: { title: "Another" } });
  const { observedGeneration, lastTransitionTime } = condition(await ready(offer), "Ready") ??
    assert.fail();
  assert.deepEqual([observedGeneration, lastTransitionTime], [3, since]);
});

Deno.test("issuer() reconciles only the Exports of a changed CRD, and writes each once", async () => {
  const api = "affecting.example.org";
  await world.define(api);
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, index) => world.offer(`unrelated-${index}`, [WIDGETS])),
  );
  const affected = await Promise.all([
    world.offer("affected-1", [api]),
    world.offer("affected-2", [WIDGETS, api]),
  ]);
  const before = await Promise.all(others.map(ready));
  await Promise.all(affected.map(ready));
  let looked = -1;
  await eventually("the issuer is idle", async () => {
    const before = looked;
    looked = await world.reconciles("export");
    return looked === before;
  }, { everyMs: 300 });
  const writes = await world.writesDuring(async () => {
    await world.label(api, null);
    await Promise.all(affected.map((offer) => unready(offer, api)));
    await world.edit(CRDS, { name: api }, { metadata: { labels: { "example.org/x": "y" } } });
    await world.label(api, "true");
    await Promise.all(affected.map(ready));
  });
  assert.deepEqual(await Promise.all(others.map(stored)), before);
  // The event of a write may come before its answer, which causes one more reconcile.
  assert.ok(await world.reconciles("export") - looked <= 8);
  const ofStatus = writes.filter((write) => write.startsWith("patch"));
  assert.deepEqual(ofStatus.sort(), [
    "patch exports/status affected-1",
    "patch exports/status affected-1",
    "patch exports/status affected-2",
    "patch exports/status affected-2",
  ]);
});

Deno.test("issuer() writes each Event about an Export once", async () => {
  const api = "flapping.example.org";
  const offer = await world.offer("flapping", [api]);
  await unready(offer, api);
  for (let round = 0; round < 3; round++) {
    await world.define(api);
    await ready(offer);
    await kube.delete(CRDS, { name: api });
    await unready(offer, api);
  }
  const last = await world.offer("told-last", [api]);
  await eventually("a later Event is written", async () => {
    return (await world.eventsOf(last)).length > 0;
  });
  assert.deepEqual(await world.eventsOf(offer), [
    `Warning APINotExported: These CRDs are missing or lack the label ${LABELS.exported}=true: ` +
    api,
  ]);
});

Deno.test("kubectl waits for an Export, and shows its columns", async () => {
  const offer = await world.offer("waited-for", ["waited.example.org"]);
  await unready(offer, "waited.example.org");
  const wait = plane.kubectl(["wait", "--for=condition=Ready", "export/waited-for"]);
  await world.define("waited.example.org");
  assert.deepEqual(await wait, {
    code: 0,
    stdout: "export.catalog.xbind.io/waited-for condition met\n",
    stderr: "",
  });
  const { stdout } = await plane.kubectl(["get", "export", "waited-for", "--no-headers"]);
  assert.match(stdout, /^waited-for +waited-for +True +\d+s\n$/);
});

const secrets = (direction: RelatedResource["direction"]): RelatedResource => ({
  resource: "secrets",
  direction,
  selector: { names: ["one"] },
});
const configMaps = (direction: RelatedResource["direction"]): RelatedResource => ({
  ...secrets(direction),
  resource: "configmaps",
});

/** All warnings: the reason of the Event, and the start of the message. */
const READ = ["Secrets", "Issued credentials can read every Secret of the provider"] as const;
const WRITE = ["Secrets", "Issued credentials can write every Secret of the provider"] as const;
const MAPS = [
  "ConfigMaps",
  "Issued credentials can write every ConfigMap of the provider",
] as const;
type Warning = typeof READ | typeof WRITE | typeof MAPS;

/** Related resources of Exports, and their warnings under scope Cluster. */
const OPENING: Record<string, { relatedResources: RelatedResource[]; warnings: Warning[] }> = {
  reads: { relatedResources: [secrets("FromProvider")], warnings: [READ] },
  writes: { relatedResources: [secrets("FromConsumer")], warnings: [WRITE] },
  both: { relatedResources: [secrets("FromProvider"), secrets("FromConsumer")], warnings: [WRITE] },
  maps: { relatedResources: [configMaps("FromConsumer")], warnings: [MAPS] },
  all: {
    relatedResources: [configMaps("FromConsumer"), secrets("FromProvider")],
    warnings: [READ, MAPS],
  },
  others: { relatedResources: [configMaps("FromProvider")], warnings: [] },
};

/** Waits until the condition and the Events of an Export have exactly these warnings. */
const warned = (offer: Export, warnings: readonly Warning[] = []): Promise<true> =>
  eventually(`the warnings of Export ${offer.metadata.name}`, async () => {
    const { message } = condition(await stored(offer), "Ready") ?? assert.fail("no condition");
    const begins = ["All APIs can be bound", ...warnings.map(([, text]) => text)];
    const sentences = message.split(". ");
    assert.equal(sentences.length, begins.length, message);
    begins.forEach((text, index) => assert.ok(sentences[index]?.startsWith(text), message));
    const events = (await world.eventsOf(offer)).sort();
    const expected = warnings.map(([kind, text]) => `Warning Opens${kind}: ${text}`).sort();
    assert.equal(events.length, expected.length, `${events}`);
    expected.forEach((text, index) => assert.ok(events[index]?.startsWith(text), `${events}`));
    return true;
  });

Deno.test("issuer() warns of Exports that open Secrets or ConfigMaps under scope Cluster", async (t) => {
  const offers = new Map<Export, readonly Warning[]>();
  await world.restart("--issuer-scope=Namespace");
  for (const [name, { relatedResources, warnings }] of Object.entries(OPENING)) {
    await t.step(`no warning of "${name}" under scope Namespace`, async () => {
      const offer = await world.offer(`under-namespace-${name}`, [WIDGETS], {
        defaults: { relatedResources },
      });
      await warned(await ready(offer));
      offers.set(offer, warnings);
    });
  }
  await world.restart();
  for (const [offer, warnings] of offers) {
    await t.step(`${offer.metadata.name}, when the scope changes`, async () => {
      await warned(offer, warnings);
    });
  }
  for (const [name, { relatedResources, warnings }] of Object.entries(OPENING)) {
    await t.step(`a new Export "${name}"`, async () => {
      const offer = await world.offer(`under-cluster-${name}`, [WIDGETS], {
        defaults: { relatedResources },
      });
      await warned(offer, warnings);
      const said = world.backend.log.filter((line) =>
        line["export"] === offer.metadata.name && line["warning"] !== undefined
      );
      assert.deepEqual(
        said.map(({ msg }) => msg),
        warnings.map(([kind]) => `Export opens ${kind}`),
      );
    });
  }
});
