import type { Certificate } from "../../../scripts/controlplane/certificates.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { VERBS } from "./issued_rights.ts";

const AUTHORIZATION = "authorization.k8s.io/v1";
const IN_FLIGHT = 24;

/** One question to the API server; an empty namespace means all of them. */
export interface Question {
  readonly verb: string;
  readonly group?: string;
  /** The plural, and the subresource after a slash. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** A non-resource path, instead of the other fields. */
  readonly path?: string;
}

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
}

/** Lists every `group/resource[/subresource]` of the API server. */
export async function servedResources(kube: KubeClient): Promise<string[]> {
  const { groups } = await kube.request<{
    groups: { name: string; versions: { groupVersion: string }[] }[];
  }>("GET", "/apis");
  const places = groups.flatMap(({ name, versions }) =>
    versions.map(({ groupVersion }) => ({ name, path: `/apis/${groupVersion}` }))
  );
  const found = new Set<string>();
  for (const { name, path } of [{ name: "", path: "/api/v1" }, ...places]) {
    const { resources } = await kube.request<ResourceList>("GET", path);
    for (const resource of resources) found.add(`${name}/${resource.name}`);
  }
  return [...found].sort();
}

/** Lists every non-resource path of the API server. */
export async function servedPaths(kube: KubeClient): Promise<string[]> {
  const { paths } = await kube.request<{ paths: string[] }>("GET", "/");
  return paths.filter((path) => !path.startsWith("/api")).sort();
}

/** Every verb on every resource in these namespaces; an empty namespace means all of them. */
export const questionsAbout = (
  resources: readonly string[],
  namespaces: readonly string[],
): Question[] =>
  resources.flatMap((each) => {
    const group = each.slice(0, each.indexOf("/"));
    const resource = each.slice(group.length + 1);
    return namespaces.flatMap((namespace) =>
      VERBS.map((verb) => ({ verb, group, resource, namespace }))
    );
  });

/** A question as one line, such as `get apps/deployments in default`. */
export const questionText = (question: Question): string => {
  const { verb, group, resource, namespace, name, path } = question;
  if (path !== undefined) return `${verb} ${path}`;
  return `${verb} ${group}/${resource}${name ? `=${name}` : ""} in ${namespace || "all"}`;
};

/** The key of a ServiceAccount. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** The user and groups of an account's token. */
export const userOf = ({ namespace, name }: Account) => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: [
    "system:serviceaccounts",
    `system:serviceaccounts:${namespace}`,
    "system:authenticated",
  ],
});

/** Asks the API server thousands of questions about the rights of accounts. */
export class AccessReviews implements Disposable {
  readonly #url: string;
  readonly #client: Deno.HttpClient;

  private constructor(plane: ControlPlane, { cert, key }: Certificate) {
    this.#url = `${plane.server}/apis/${AUTHORIZATION}/subjectaccessreviews`;
    // A single HTTP/2 connection is slower than several of HTTP/1.1.
    this.#client = Deno.createHttpClient({ caCerts: [plane.caPem], cert, key, http2: false });
  }

  /** Connects as an administrator. */
  static async of(plane: ControlPlane): Promise<AccessReviews> {
    return new AccessReviews(plane, await plane.userCertificate("reviewer", ["system:masters"]));
  }

  /** Returns the questions that are allowed for an account. */
  async allowedTo(account: Account, questions: readonly Question[]): Promise<Set<string>> {
    const who = userOf(account);
    const allowed = new Set<string>();
    const left = questions.values();
    const ask = async () => {
      // All workers share the iterator, so each takes the next question.
      for (const question of left) {
        if (await this.#review({ ...who, ...attributes(question) })) {
          allowed.add(questionText(question));
        }
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
    return allowed;
  }

  async #review(spec: object): Promise<boolean> {
    const body = JSON.stringify({ apiVersion: AUTHORIZATION, kind: "SubjectAccessReview", spec });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(this.#url, { client: this.#client, method: "POST", headers, body });
    const { status } = await answer.json();
    if (typeof status?.allowed !== "boolean") throw new Error(`a review failed: ${answer.status}`);
    return status.allowed;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

function attributes({ verb, group, resource = "", namespace, name, path }: Question): object {
  if (path !== undefined) return { nonResourceAttributes: { path, verb } };
  const [plural, subresource] = resource.split("/");
  return {
    resourceAttributes: { verb, group, resource: plural, subresource, namespace, name },
  };
}
