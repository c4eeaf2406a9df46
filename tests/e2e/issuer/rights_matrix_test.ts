import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type Grant,
  GRANTS,
  type RelatedResource,
  ROLES,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import { clusterRoleName } from "../../../common/api/names.ts";
import { boundaryOf, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import { reviewSelf } from "../../support/planes/kube.ts";
import { SOAK_VARIABLE } from "../../support/planes/soak.ts";
import {
  AccessReviews,
  type Account,
  type Question,
  questionsAbout,
  questionText,
  servedPaths,
  servedResources,
  userOf,
} from "../../support/planes/rights_matrix.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
const reviews = await AccessReviews.of(world.plane);
Deno.test.afterAll(async () => {
  reviews[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});
const { kube } = world;

const GADGETS = "gadgets.example.org";
const UNEXPORTED = "sprockets.example.org";
await world.define(GADGETS);
await world.define(UNEXPORTED, {});
const everyRule = ["secrets", "configmaps"].flatMap((resource) =>
  (["FromProvider", "FromConsumer"] as const).map((direction) => ({ resource, direction }))
) as RelatedResource[];
await world.offer("widgets", [WIDGETS], { defaults: { relatedResources: everyRule } });
const grant = await world.ready(await world.grant());
const boundary = boundaryOf(grant);
const account: Account = { namespace: boundary, name: grant.metadata.name };

/** Accounts without any binding, in another namespace and in the boundary. */
const stranger: Account = { namespace: "default", name: "fresh" };
const neighbour: Account = { namespace: boundary, name: "fresh" };
for (const metadata of [stranger, neighbour]) await world.create(SERVICE_ACCOUNTS, { metadata });

const PLACES = [boundary, "default", ""];
const questions: Question[] = [
  ...questionsAbout(await servedResources(kube), PLACES),
  ...questionsAbout(["*/*", "/*", "example.org/*"], PLACES),
  ...["kube-system", boundary].flatMap((name) =>
    questionsAbout(["/namespaces"], [""]).map((question) => ({ ...question, name }))
  ),
  ...(await servedPaths(kube)).flatMap((path) =>
    ["get", "post", "put", "delete"].map((verb) => ({ verb, path }))
  ),
];
const byDefault = await reviews.allowedTo(stranger, questions);

type Scope = "Cluster" | "Namespace";
const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete"];

/** The input of the design's table of rights. */
interface Given {
  readonly scope: Scope;
  readonly apis: readonly string[];
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
}

/** Every line that the table allows; a set, because rights may overlap. */
function table({ scope, apis, reads = [], writes = [] }: Given): Set<string> {
  const lines = new Set<string>();
  const add = (resource: string, verbs: readonly string[], places: readonly string[]) => {
    for (const question of questionsAbout([resource], places)) {
      if (verbs.includes(question.verb)) lines.add(questionText(question));
    }
  };
  const granted = scope === "Cluster" ? PLACES : [boundary];
  add("apiextensions.k8s.io/customresourcedefinitions", READ, PLACES);
  add("coordination.k8s.io/leases", [...READ, ...WRITE], [boundary]);
  for (const api of apis) {
    const [plural = "", ...group] = api.split(".");
    const resource = `${group.join(".")}/${plural}`;
    add(resource, [...READ, ...WRITE], granted);
    add(`${resource}/status`, [...READ, ...WRITE], granted);
  }
  for (const resource of reads) add(`/${resource}`, READ, granted);
  for (const resource of writes) add(`/${resource}`, [...READ, ...WRITE], granted);
  const namespaces = scope === "Cluster" ? [...READ, "create"] : [];
  add("/namespaces", namespaces, PLACES);
  for (const verb of scope === "Cluster" ? namespaces : ["get"]) {
    lines.add(`${verb} /namespaces=kube-system in all`);
  }
  for (const verb of namespaces) lines.add(`${verb} /namespaces=${boundary} in all`);
  return lines;
}

/** Returns whether the changes below affect a question: then its answer shows that they arrived. */
const isAffected = ({ resource = "" }: Question): boolean =>
  /^(widgets|gadgets|sprockets|secrets|configmaps|namespaces|leases|\*)/.test(resource);
const affected = questions.filter(isAffected);
const affectedLines = new Set(affected.map(questionText));

/** The soak run asks all questions after each change, the daily run only after some. */
const ALWAYS_IN_FULL = Deno.env.has(SOAK_VARIABLE);

/** Waits until the account has exactly the rights of the table, beyond the default rights. */
async function hasExactly(given: Given, inFull = true): Promise<void> {
  const expected = table(given);
  const wanted = expected.intersection(affectedLines);
  let asked = affected;
  await eventually("the API server knows the roles", async () => {
    const lines = new Set(asked.map(questionText));
    const allowed = (await reviews.allowedTo(account, asked)).difference(byDefault);
    const wrong = allowed.symmetricDifference(wanted.intersection(lines));
    // Asks only what was wrong until it is right, and then everything again.
    const isAll = asked === affected;
    asked = wrong.size > 0 ? affected.filter((each) => wrong.has(questionText(each))) : affected;
    assert.deepEqual([...wrong].sort(), []);
    return isAll;
  });
  if (!inFull && !ALWAYS_IN_FULL) return;
  const allowed = await reviews.allowedTo(account, questions);
  assert.deepEqual([...allowed.difference(byDefault)].sort(), [...expected].sort());
  assert.deepEqual([...byDefault.difference(allowed)], [], "default rights are missing");
}

const editGrant = async (spec: object): Promise<Grant> => {
  await world.edit(GRANTS, grant.metadata, { spec });
  return grant;
};
const apisOf = (...names: string[]) => ({ apis: names.map((name) => ({ name })) });
const related = (...rules: [string, RelatedResource["direction"]][]) => ({
  relatedResources: rules.map(([resource, direction]) => ({ group: "", resource, direction })),
});
const RBAC = "rbac.authorization.k8s.io";
const EVERYTHING = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };

interface Change {
  readonly name: string;
  readonly change: () => Promise<unknown>;
  readonly given: Omit<Given, "scope">;
  readonly inFull?: true;
}

/** Opens everything to everyone by editing the roles, as an administrator might. */
async function openEverything(): Promise<void> {
  const clusterWide = { name: clusterRoleName(grant.metadata.name) };
  const everybody = { kind: "Group", name: "system:authenticated", apiGroup: RBAC };
  await world.edit(CLUSTER_ROLES, clusterWide, { rules: [EVERYTHING] });
  await world.edit(ROLES, account, { rules: [EVERYTHING] });
  await world.edit(CLUSTER_ROLE_BINDINGS, clusterWide, { subjects: [everybody] });
}

const OPENED: Change = {
  name: "everything opened by hand",
  change: openEverything,
  given: { apis: [WIDGETS] },
  inFull: true,
};

/** Changes that build on each other, and the rights of the Grant after each. */
const CHANGES: readonly Change[] = [
  {
    name: "an API added",
    change: () => editGrant(apisOf(WIDGETS, GADGETS)),
    given: { apis: [WIDGETS, GADGETS] },
  },
  {
    name: "an unexported API added, and the label of another removed",
    change: async () => {
      await editGrant(apisOf(WIDGETS, GADGETS, UNEXPORTED));
      await world.unready(GRANTS, grant, "APINotExported", /sprockets/);
      await world.label(GADGETS, null);
    },
    given: { apis: [WIDGETS, GADGETS] },
    inFull: true,
  },
  {
    name: "APIs removed",
    change: async () => {
      await world.label(GADGETS, "true");
      await world.ready(await editGrant(apisOf(WIDGETS)));
    },
    given: { apis: [WIDGETS] },
  },
  {
    name: "related rules added",
    change: () => editGrant(related(["secrets", "FromProvider"], ["configmaps", "FromConsumer"])),
    given: { apis: [WIDGETS], reads: ["secrets"], writes: ["configmaps"] },
    inFull: true,
  },
  {
    name: "related rules removed",
    change: () => editGrant({ relatedResources: null }),
    given: { apis: [WIDGETS] },
  },
  OPENED,
];

/** The same changes in fewer steps. */
const CHANGES_AT_ONCE: readonly Change[] = [
  {
    name: "an API and related rules added",
    change: () =>
      editGrant({
        ...apisOf(WIDGETS, GADGETS),
        ...related(["secrets", "FromConsumer"], ["configmaps", "FromProvider"]),
      }),
    given: { apis: [WIDGETS, GADGETS], reads: ["configmaps"], writes: ["secrets"] },
    inFull: true,
  },
  {
    name: "both removed",
    change: () => editGrant({ ...apisOf(WIDGETS), relatedResources: null }),
    given: { apis: [WIDGETS] },
  },
  OPENED,
];

async function checkRights(
  t: Deno.TestContext,
  scope: Scope,
  changes: readonly Change[],
): Promise<void> {
  await t.step("before any change", () => hasExactly({ scope, apis: [WIDGETS] }, false));
  for (const { name, change, given, inFull = false } of changes) {
    await t.step(`after ${name}`, async () => {
      await change();
      await hasExactly({ scope, ...given }, inFull);
    });
  }
}

Deno.test("the questions cover every resource of the API server", () => {
  assert.ok(questions.length > 3_000, `${questions.length}`);
  const resources = new Set(questions.map(({ group, resource }) => `${group}/${resource}`));
  for (
    const known of [
      "/secrets",
      "/serviceaccounts/token",
      "/pods/exec",
      "rbac.authorization.k8s.io/clusterroles",
      "iam.xbind.io/grants/status",
      "example.org/sprockets/status",
      "certificates.k8s.io/certificatesigningrequests/approval",
    ]
  ) assert.ok(resources.has(known), known);
  assert.ok(byDefault.has("create authorization.k8s.io/selfsubjectaccessreviews in all"));
});

Deno.test("userOf() returns the user of an issued token", async () => {
  using issued = await world.issued(grant);
  const self = await reviewSelf(issued.kube);
  const { user, groups } = userOf(account);
  assert.equal(self.username, user);
  assert.deepEqual([...self.groups ?? []].sort(), [...groups].sort());
});

Deno.test("a Grant has the rights of the table under scope Cluster", async (t) => {
  await checkRights(t, "Cluster", CHANGES);
});

Deno.test("a Grant has the rights of the table after a change to scope Namespace", async (t) => {
  await world.restart("--issuer-scope=Namespace");
  await checkRights(t, "Namespace", CHANGES_AT_ONCE);
});

Deno.test("a Grant has the rights of the table after a change back to scope Cluster", async () => {
  await world.restart();
  await hasExactly({ scope: "Cluster", apis: [WIDGETS] }, false);
});

Deno.test("other accounts got no rights", async () => {
  const allowed = await reviews.allowedTo(neighbour, questions);
  assert.deepEqual([...allowed.difference(byDefault)], []);
  assert.deepEqual([...(await reviews.allowedTo(stranger, affected)).difference(byDefault)], []);
});
