import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  COLLECTIONS,
  CONNECTIONS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { CRDS_FOLDER } from "./schema.ts";

/** The six kinds of xbind. */
export const TYPES: ResourceType[] = [
  EXPORTS,
  COLLECTIONS,
  GRANTS,
  CONNECTIONS,
  CLUSTER_BINDINGS,
  BINDINGS,
];

/** Returns the full name of a kind for kubectl: `plural.group`. */
export const resourceName = (type: ResourceType): string => `${type.plural}.${type.group}`;

/** Returns the full name of an object for kubectl: `Kind.version.group/name`. */
export const reference = ({ apiVersion, kind, metadata }: KubeObject): string =>
  `${[kind, ...apiVersion.split("/").toReversed()].join(".")}/${metadata.name}`;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const provider = await sharedProvider();

const install = async (): Promise<void> => {
  // Forced, because other test files may apply the CRDs at the same time.
  const applied = await provider.kubectl(
    ["apply", "--server-side", "--force-conflicts", "-f", fileURLToPath(CRDS_FOLDER)],
  );
  assert.equal(applied.code, 0, applied.stderr);
  const names = TYPES.map((type) => `crd/${resourceName(type)}`);
  const waited = await provider.kubectl(
    ["wait", "--for=condition=Established", "--timeout=30s", ...names],
  );
  assert.equal(waited.code, 0, waited.stderr);
  // Discovery lags behind. This command also refreshes kubectl's discovery cache.
  const deadline = AbortSignal.timeout(30_000);
  for (let listed = ""; listed.trim().split("\n").length < TYPES.length;) {
    assert.ok(!deadline.aborted, `kubectl api-resources lists only ${listed}`);
    listed =
      (await provider.kubectl(["api-resources", "--categories=xbind", "--no-headers"])).stdout;
  }
};

await install();

/** Runs kubectl as admin of the shared provider, which has our CRDs. */
export const kubectl = (args: string[], stdin?: string) =>
  provider.kubectl(args, stdin === undefined ? {} : { stdin });

/** Runs a kubectl command that must succeed, and returns its stdout. */
export const succeed = async (args: string[], stdin?: string): Promise<string> => {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
};

/** Runs a kubectl command that must fail, and returns its stderr. */
export const fail = async (args: string[], stdin?: string): Promise<string> => {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  assert.notEqual(code, 0, `kubectl ${args.join(" ")}: ${stdout}`);
  return stderr;
};

/** Returns the stored object. */
export const stored = async (object: KubeObject) =>
  JSON.parse(await succeed(["get", "-o", "json", reference(object)]));

/** Returns the objects as the text of one file. */
export const documents = (...objects: object[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");

/** Creates an object, and deletes it when disposed. */
export const withObject = async (object: KubeObject, test: () => Promise<void>): Promise<void> => {
  try {
    await succeed(["create", "-f", "-"], documents(object));
    await test();
  } finally {
    await kubectl(["delete", "--ignore-not-found", "-f", "-"], documents(object));
  }
};
