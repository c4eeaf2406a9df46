import type { KubeObject, ResourceType } from "../api/resources.ts";
import type { FieldManager } from "../api/names.ts";
import { isNotFound, KubeError } from "./kube_error.ts";
import { parseLossless } from "./lossless_json.ts";
import { METADATA_OBJECT, type MetadataObject } from "./metadata.ts";
import { collectionPath, keyOf, keyText, type ObjectKey, objectPath } from "./paths.ts";
import { sendPatiently } from "./send_patiently.ts";
import type { BeforeSend, Transport, TransportRequest } from "./transport.ts";

/** Selects objects of a kind. Absent fields select all. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Conditions under which a delete is carried out. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** A merge patch that applies only to the version of the object that was read. */
export interface MergePatch {
  readonly metadata: { readonly resourceVersion: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** One step of a JSON patch. */
export interface PatchStep {
  readonly op: "test" | "add" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/** One page of a list. */
export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly continue: string;
}

const CALL_TIMEOUT_MS = 15_000;
const LIST_TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;
/** A page of objects may be larger than any object. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

/**
 * A thin client over API paths. `sendPatiently` retries its requests.
 */
export class KubeClient {
  readonly transport: Transport;
  readonly #beforeWrite: BeforeSend | undefined;

  /** Calls `beforeWrite` before every write. */
  constructor(transport: Transport, beforeWrite?: BeforeSend) {
    this.transport = transport;
    this.#beforeWrite = beforeWrite;
  }

  /** Reads one object. Throws if it does not exist. */
  async get<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T> {
    return await this.#call("GET", objectPath(type, key), `get ${named(type, key)}`, { signal });
  }

  /** Reads one object. Returns undefined if it does not exist. */
  async find<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.get(type, key, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Reads the metadata of one object. Returns undefined if it does not exist. */
  async findMetadata(
    type: ResourceType,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<MetadataObject | undefined> {
    const attempt = `get the metadata of ${named(type, key)}`;
    try {
      return await this.#call("GET", objectPath(type, key), attempt, {
        signal,
        headers: { Accept: METADATA_OBJECT },
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Reads all objects of a selection, page by page. */
  async list<T extends KubeObject>(
    type: ResourceType<T>,
    selection: Selection = {},
    signal?: AbortSignal,
  ): Promise<T[]> {
    const objects: T[] = [];
    let next = "";
    do {
      const page = await this.listPage(type, selection, { next, signal });
      for (const item of page.items) objects.push(withKind(type, item));
      next = page.continue;
    } while (next !== "");
    return objects;
  }

  /** Reads one page of at most 500 objects. `next` continues after the previous page. */
  async listPage(
    type: ResourceType,
    selection: Selection,
    { next = "", accept, signal }: {
      next?: string;
      accept?: string;
      signal?: AbortSignal | undefined;
    },
  ): Promise<ListPage> {
    const query = selectionQuery(selection);
    query.set("limit", String(PAGE_SIZE));
    if (next) query.set("continue", next);
    const path = `${collectionPath(type, selection.namespace)}?${query}`;
    const list: {
      items?: unknown[] | null; // an empty metadata list has null here
      metadata?: { resourceVersion?: string; continue?: string };
    } = await this.#call("GET", path, `list ${type.plural}`, {
      signal,
      timeoutMs: LIST_TIMEOUT_MS,
      maxAnswerBytes: MAX_PAGE_BYTES,
      ...(accept ? { headers: { Accept: accept } } : {}),
    });
    return {
      items: list.items ?? [],
      resourceVersion: list.metadata?.resourceVersion ?? "",
      continue: list.metadata?.continue ?? "",
    };
  }

  /** Creates an object. Throws if it exists. */
  async create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = collectionPath(type, type.namespaced ? object.metadata.namespace : undefined);
    const attempt = `create ${named(type, keyOf(object))}`;
    return await this.#call("POST", `${path}?fieldManager=${manager}`, attempt, {
      signal,
      ...jsonBody("application/json", object),
    });
  }

  /** Replaces an object. Its resourceVersion must be the current one. */
  async update<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = `${objectPath(type, keyOf(object))}?fieldManager=${manager}`;
    return await this.#call("PUT", path, `update ${named(type, keyOf(object))}`, {
      signal,
      ...jsonBody("application/json", object),
    });
  }

  /** Applies an object on the server side, and takes over fields of other managers. */
  async apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    return await this.#apply(type, object, { manager }, signal);
  }

  /** Dry-runs a server-side apply: returns the object that would be stored, or throws. */
  async dryRunApply<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    return await this.#apply(type, object, { manager, isDryRun: true }, signal);
  }

  /** Applies the status on the server side. Fields of other managers stay. */
  async applyStatus<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    return await this.#apply(type, object, { manager, part: "status" }, signal);
  }

  async #apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    { manager, part, isDryRun }: { manager: FieldManager; part?: "status"; isDryRun?: boolean },
    signal?: AbortSignal,
  ): Promise<T> {
    const key = keyOf(object);
    const query = `fieldManager=${manager}&force=true${isDryRun ? "&dryRun=All" : ""}`;
    const action = `apply ${part ? `the ${part} of ` : ""}${named(type, key)}`;
    return await this.#call("PATCH", `${objectPath(type, key, part)}?${query}`, action, {
      signal,
      ...jsonBody("application/apply-patch+yaml", object),
    });
  }

  /** Applies an object that is given as JSON text, so that its content need not be parsed. */
  async applyText<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    text: string,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = `${objectPath(type, key)}?fieldManager=${manager}&force=true`;
    return await this.#call("PATCH", path, `apply ${named(type, key)}`, {
      signal,
      headers: { "Content-Type": "application/apply-patch+yaml" },
      body: text,
    });
  }

  /** Dry-runs the creation of an object that is given as JSON text. Throws as a creation would. */
  async dryRunCreateText(
    type: ResourceType,
    key: ObjectKey,
    text: string,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = collectionPath(type, type.namespaced ? key.namespace : undefined);
    const query = `fieldManager=${manager}&dryRun=All`;
    await this.#call("POST", `${path}?${query}`, `create ${named(type, key)}`, {
      signal,
      headers: { "Content-Type": "application/json" },
      body: text,
    });
  }

  /** Sends a JSON patch. Nothing changes if one of its tests fails, and the answer is 422. */
  async jsonPatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    steps: readonly PatchStep[],
    { manager, part, signal }: {
      readonly manager: FieldManager;
      readonly part?: "status" | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<T> {
    const path = `${objectPath(type, key, part)}?fieldManager=${manager}`;
    const action = `patch ${part ? `the ${part} of ` : ""}${named(type, key)}`;
    return await this.#call("PATCH", path, action, {
      signal,
      ...jsonBody("application/json-patch+json", steps),
    });
  }

  /** Sends a JSON merge patch, which applies only to the resourceVersion in it. */
  async mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: MergePatch,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    return await this.patchFields(type, key, patch, manager, signal);
  }

  /** Sends a JSON merge patch to any version, for fields that only this process writes. */
  async patchFields<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
    manager: FieldManager,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = `${objectPath(type, key)}?fieldManager=${manager}`;
    return await this.#call("PATCH", path, `patch ${named(type, key)}`, {
      signal,
      ...jsonBody("application/merge-patch+json", patch),
    });
  }

  /** Deletes an object if the preconditions hold. Throws if it does not exist. */
  async delete(
    type: ResourceType,
    key: ObjectKey,
    preconditions: Preconditions = {},
    signal?: AbortSignal,
  ): Promise<void> {
    const options = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      preconditions,
    };
    await this.#call("DELETE", objectPath(type, key), `delete ${named(type, key)}`, {
      signal,
      ...jsonBody("application/json", options),
    });
  }

  /** Sends JSON to any path, such as that of a review. */
  async request<T>(
    method: "GET" | "POST" | "PUT",
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    headers: Readonly<Record<string, string | string[]>> = {},
  ): Promise<T> {
    const sent = body === undefined ? undefined : jsonBody("application/json", body);
    return await this.#call(method, path, `${method.toLowerCase()} ${path}`, {
      signal,
      ...sent,
      headers: { ...sent?.headers, ...headers },
    });
  }

  async #call<T>(
    method: string,
    path: string,
    action: string,
    options: Partial<TransportRequest>,
  ): Promise<T> {
    const request = {
      timeoutMs: CALL_TIMEOUT_MS,
      beforeSend: method === "GET" ? undefined : this.#beforeWrite,
      ...options,
      method,
      path,
      attempt: `Cannot ${action}`,
    };
    const answer = await sendPatiently(this.transport, request);
    try {
      return parseLossless(answer.text) as T;
    } catch (cause) {
      throw new KubeError(`${request.attempt}: the answer is not JSON`, {
        status: answer.status,
        reason: "InvalidAnswer",
        cause,
      });
    }
  }
}

/** Builds the query parameters of a selection. */
export function selectionQuery({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector) query.set("labelSelector", labelSelector);
  if (fieldSelector) query.set("fieldSelector", fieldSelector);
  return query;
}

/** Adds apiVersion and kind, which the items of a list lack. */
export function withKind<T extends KubeObject>(type: ResourceType<T>, item: unknown): T {
  const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
  return { apiVersion, kind: type.kind, ...(item as object) } as T;
}

const named = (type: ResourceType, key: ObjectKey): string => `${type.plural} "${keyText(key)}"`;

const jsonBody = (contentType: string, body: unknown) => ({
  headers: { "Content-Type": contentType },
  body: JSON.stringify(body),
});
