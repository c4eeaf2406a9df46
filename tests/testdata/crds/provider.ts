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

/** The six kinds. */
export const TYPES: ResourceType[] = [
  EXPORTS,
  COLLECTIONS,
  GRANTS,
  CONNECTIONS,
  CLUSTER_BINDINGS,
  BINDINGS,
];

/** The name by which kubectl finds a kind without doubt. */
export const resourceName = (type: ResourceType): string => `${type.plural}.${type.group}`;

/** An object as kubectl takes it: `Kind.version.group/name`. */
export const reference = ({ apiVersion, kind, metadata }: KubeObject): string =>
  `${[kind, ...apiVersion.split("/").toReversed()].join(".")}/${metadata.name}`;

// Before any test, so that no test is charged with processes it does not end.
const provider = await sharedProvider();

const install = async (): Promise<void> => {
  // Other test files do the same at the same time, hence the forced server-side apply.
  const applied = await provider.kubectl(
    ["apply", "--server-side", "--force-conflicts", "-f", fileURLToPath(CRDS_FOLDER)],
  );
  assert.equal(applied.code, 0, applied.stderr);
  const names = TYPES.map((type) => `crd/${resourceName(type)}`);
  const waited = await provider.kubectl(
    ["wait", "--for=condition=Established", "--timeout=30s", ...names],
  );
  assert.equal(waited.code, 0, waited.stderr);
  // Discovery follows with some delay; asking this way also renews kubectl's own cache of it.
  const deadline = AbortSignal.timeout(30_000);
  for (let listed = ""; listed.trim().split("\n").length < TYPES.length;) {
    assert.ok(!deadline.aborted, `kubectl api-resources lists only ${listed}`);
    listed =
      (await provider.kubectl(["api-resources", "--categories=xbind", "--no-headers"])).stdout;
  }
};

await install();

/** Runs kubectl as admin of the shared provider, with our definitions in place. */
export const kubectl = (args: string[], stdin?: string) =>
  provider.kubectl(args, stdin === undefined ? {} : { stdin });

/** What a kubectl command that must succeed writes to stdout. */
export const succeed = async (args: string[], stdin?: string): Promise<string> => {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
};

/** What a kubectl command that must fail writes to stderr. */
export const fail = async (args: string[], stdin?: string): Promise<string> => {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  assert.notEqual(code, 0, `kubectl ${args.join(" ")}: ${stdout}`);
  return stderr;
};

/** An object as it is stored. */
export const stored = async (object: KubeObject) =>
  JSON.parse(await succeed(["get", "-o", "json", reference(object)]));

/** Objects as the text of one file. */
export const documents = (...objects: object[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");

/** Creates an object for the time of a test. */
export const withObject = async (object: KubeObject, test: () => Promise<void>): Promise<void> => {
  try {
    await succeed(["create", "-f", "-"], documents(object));
    await test();
  } finally {
    await kubectl(["delete", "--ignore-not-found", "-f", "-"], documents(object));
  }
};
