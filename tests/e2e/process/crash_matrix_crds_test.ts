import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CRDS, EXPORTS, GRANTS } from "../../../common/api/resources.ts";
import { contains } from "../../../common/kube/crds.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { Backend } from "../../support/programs/backend.ts";
import { dropCrds } from "../../support/planes/ask_etcd.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { connect, type Connected } from "../../support/planes/kube.ts";
import {
  type KillPoint,
  killPoints,
  pointText,
  WriteGate,
} from "../../support/faults/write_gate.ts";

const NAMES = serviceCrds().map(({ metadata }) => metadata.name).sort();
/** No module runs: the backend only installs the CRDs. */
const FLAGS = ["--enable-gateway=false", "--enable-issuer=false"];

/** A provider on which only CRDs are installed, with a gate for the writes. */
class Site implements AsyncDisposable {
  readonly gate = new WriteGate();
  readonly #plane: ControlPlane;
  readonly #proxy: FaultProxy;
  readonly #admin: Connected;

  private constructor(plane: ControlPlane, proxy: FaultProxy, admin: Connected) {
    this.#plane = plane;
    this.#proxy = proxy;
    this.#admin = admin;
    proxy.faults = this.gate.faults;
  }

  /** Starts a provider without any CRD. */
  static async start(): Promise<Site> {
    const plane = await ownPlane({ controllerManager: false });
    return new Site(plane, await FaultProxy.start(plane), await connect(plane));
  }

  async install(): Promise<Backend> {
    return await Backend.start(this.#plane, {
      flags: FLAGS,
      kubeconfig: await this.#proxy.kubeconfig(),
    });
  }

  /** Installs all CRDs with at most this many writes, and returns the writes. */
  async installed(most: number): Promise<string[]> {
    const { gate } = this;
    const { kube } = this.#admin;
    gate.open();
    gate.passed.length = 0;
    await using backend = await this.install();
    assert.equal(await backend.ended(), 0, backend.lines.join("\n"));
    assert.ok(gate.passed.length <= most, gate.passed.join());
    const stored = await kube.list(CRDS);
    assert.deepEqual(stored.map(({ metadata }) => metadata.name), NAMES);
    for (const crd of serviceCrds()) {
      assert.ok(contains(stored.find(({ metadata }) => metadata.name === crd.metadata.name), crd));
    }
    await Promise.all([kube.list(EXPORTS), kube.list(GRANTS)]); // the API server serves them
    return [...gate.passed];
  }

  /** Deletes every CRD. */
  async drop(): Promise<void> {
    await dropCrds(this.#plane, this.#admin.kube);
  }

  /** Edits every CRD, as an administrator should not. */
  async edit(): Promise<void> {
    const { kube } = this.#admin;
    for (const { metadata: { name } } of await kube.list(CRDS)) {
      await eventually(`${name} is edited`, async () => {
        const { metadata: { resourceVersion = "" } } = await kube.get(CRDS, { name });
        const spec = { names: { categories: ["edited"] } };
        const patch = { metadata: { resourceVersion }, spec };
        return await kube.mergePatch(CRDS, { name }, patch, FIELD_MANAGERS.installer);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#admin[Symbol.dispose]();
    await this.#proxy[Symbol.asyncDispose]();
    await this.#plane[Symbol.asyncDispose]();
  }
}

const ALL = NAMES.map(() => "patch customresourcedefinitions");

async function assertInstalledAfterKill(site: Site, point: KillPoint): Promise<void> {
  {
    await using victim = await site.install();
    site.gate.ambush(point, () => victim.signal("SIGKILL"));
    assert.equal(await victim.ended(), 137);
  }
  await site.installed(NAMES.length);
  assert.deepEqual(await site.installed(0), [], "the second start writes nothing");
}

Deno.test("xbind-backend installs or repairs all CRDs after a kill at any write", async (t) => {
  await using site = await Site.start();
  assert.deepEqual(await site.installed(NAMES.length), ALL);
  await site.edit();
  assert.deepEqual(await site.installed(NAMES.length), ALL);
  for (const point of killPoints(ALL)) {
    await t.step(`edited CRDs, killed ${pointText(point)}`, async () => {
      await site.edit();
      await assertInstalledAfterKill(site, point);
    });
    await t.step(`no CRDs, killed ${pointText(point)}`, async () => {
      await site.drop();
      await assertInstalledAfterKill(site, point);
    });
  }
});
