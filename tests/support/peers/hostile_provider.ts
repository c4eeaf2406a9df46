import type { IncomingMessage, ServerResponse } from "node:http";
import { HostileApiServer } from "./hostile_api_server.ts";
import { crdFor, EXPORTED } from "../planes/issuer_samples.ts";

/** Sends text on a stream; resolves to false when the client has gone. */
export type Send = (text: string) => Promise<boolean>;

/** JSON, as a whole, or in parts that are sent as the client takes them. */
export type JsonText = string | readonly string[];

/** What a hostile provider answers. Everything else it answers as a plain provider does. */
export interface HostileAnswers {
  /** The UID of its `kube-system`. */
  readonly uid?: unknown;
  /** The names of the CRDs that it exports, besides the bound ones. */
  readonly exports?: readonly string[];
  /** A CRD; undefined if it never answers. */
  readonly crd?: (name: string) => JsonText | undefined;
  /** Comes first in the nth watch of CRDs, before its objects. */
  readonly inCrdWatch?: (send: Send, nth: number) => Promise<unknown>;
  /** Comes first in the nth watch of objects. */
  readonly inObjectWatch?: (send: Send, nth: number) => Promise<unknown>;
  /** Comes first in the nth watch of Secrets or ConfigMaps. */
  readonly inRelatedWatch?: (send: Send, nth: number) => Promise<unknown>;
  /** A Secret or ConfigMap. */
  readonly related?: () => JsonText;
  /** Pages of lists that have no end, because watches are refused. */
  readonly pages?: (nth: number) => readonly object[];
  /** The answer to an apply, as JSON text. */
  readonly applied?: (sent: string) => string;
}

const INITIAL_END = { annotations: { "k8s.io/initial-events-end": "true" } };

/** A line of a watch. */
export const watchLine = (type: string, object: unknown): string =>
  `${JSON.stringify({ type, object })}\n`;

/** The metadata of an exported CRD. */
export const exportedCrd = (name: string) => ({
  metadata: { name, uid: name, resourceVersion: "5", generation: 1, labels: EXPORTED },
});

/** Starts a server that pretends to be a provider of these APIs. */
export async function startHostileProvider(
  apis: readonly string[],
  answers: HostileAnswers,
): Promise<HostileApiServer> {
  const watches = { crds: 0, objects: 0, related: 0 };
  let pages = 0;
  return await HostileApiServer.start(async (answer, _, request) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const body = await textOf(request);
    const json = async (text: JsonText, status = 200) => {
      answer.writeHead(status, { "Content-Type": "application/json" });
      if (typeof text === "string") return void answer.end(text);
      const send = sender(answer);
      for (const part of text) if (!await send(part)) return;
      answer.end();
    };
    const isWatch = query.includes("watch=true");
    if (path === "/apis") return json(`{"groups":[]}`);
    if (path.endsWith("/kube-system")) {
      const { uid = "hostile" } = answers;
      return json(JSON.stringify({ metadata: { name: "kube-system", uid } }));
    }
    if (path.endsWith("accessreviews")) return json(`{"status":{"allowed":true}}`);
    const isCrd = path.includes("/customresourcedefinitions");
    if (answers.pages && (isWatch || query.includes("limit="))) {
      if (isWatch) return json("{}", 400);
      const metadata = { resourceVersion: "5", continue: `${pages}` };
      return json(JSON.stringify({ metadata, items: answers.pages(pages++) }));
    }
    if (isCrd && isWatch) {
      const exported = [...apis, ...answers.exports ?? []].map(exportedCrd);
      return await stream(answer, exported, answers.inCrdWatch, ++watches.crds);
    }
    const isRelated = /^\/api\/v1\/.*(secrets|configmaps)/.test(path);
    if (isRelated && isWatch) {
      return await stream(answer, [], answers.inRelatedWatch, ++watches.related);
    }
    if (isRelated && answers.related && request.method === "GET") return json(answers.related());
    if (isWatch) return await stream(answer, [], answers.inObjectWatch, ++watches.objects);
    if (isCrd) {
      const name = path.split("/").at(-1) ?? "";
      const text = (answers.crd ?? plainCrd)(name);
      return text === undefined ? undefined : json(text);
    }
    if (request.method === "PATCH") return json((answers.applied ?? storedAs)(body));
    return json("{}");
  });
}

/** The CRD of an API as a plain provider has it, as JSON text. */
export const plainCrd = (name: string): string => JSON.stringify(crdFor(name, EXPORTED));

/** The object of an apply as a plain provider stores it. */
const storedAs = (sent: string): string => {
  const object = JSON.parse(sent);
  Object.assign(object.metadata, { uid: "stored", resourceVersion: "7", generation: 1 });
  return JSON.stringify(object);
};

/** Returns a function that sends no faster than the client reads. */
export function sender(answer: ServerResponse): Send {
  const closed = new Promise<void>((resolve) => answer.on("close", resolve));
  return async (text) => {
    if (answer.destroyed) return false;
    if (answer.write(text)) return true;
    await Promise.race([closed, new Promise<void>((resolve) => answer.once("drain", resolve))]);
    return !answer.destroyed;
  };
}

async function stream(
  answer: ServerResponse,
  objects: readonly object[],
  first: ((send: Send, nth: number) => Promise<unknown>) | undefined,
  nth: number,
): Promise<void> {
  answer.writeHead(200, { "Content-Type": "application/json" });
  answer.flushHeaders();
  const send = sender(answer);
  await first?.(send, nth);
  for (const object of objects) await send(watchLine("ADDED", object));
  const metadata = { resourceVersion: "6", ...INITIAL_END };
  await send(watchLine("BOOKMARK", { metadata }));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}
