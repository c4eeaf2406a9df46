import { invalidRequest } from "../errors.ts";

/** The part of JSON Schema that our bodies need; OpenAPI shows the same objects. */
export interface ObjectSchema {
  readonly type: "object";
  readonly description: string;
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, PropertySchema>>;
}

/** One field of a body. */
export type PropertySchema =
  | { readonly type: "string"; readonly minLength?: number; readonly description: string }
  | { readonly type: "boolean"; readonly description: string };

/** Body of `POST /api/bind`. */
export const BIND_REQUEST = {
  type: "object",
  description: "What to bind",
  required: ["export"],
  properties: {
    export: { type: "string", minLength: 1, description: "Name of a Ready Export" },
  },
} as const satisfies ObjectSchema;

/** Body of `POST /api/apply`. */
export const APPLY_REQUEST = {
  type: "object",
  description: "What to apply to a consumer cluster",
  required: ["kubeconfig"],
  properties: {
    kubeconfig: {
      type: "string",
      minLength: 1,
      description: "Base64 of a consumer kubeconfig with inline credentials only",
    },
    export: { type: "string", description: "Name of a Ready Export; may be left out" },
    installKonnector: {
      type: "boolean",
      description: "Install or upgrade the konnector first; required without an export",
    },
  },
} as const satisfies ObjectSchema;

/** Checks a body; unknown fields are ignored, a wrong or missing one is named. */
export function checkBody<T>(schema: ObjectSchema, body: unknown): T {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw invalidRequest("Cannot read the request: its body is not a JSON object");
  }
  const fields = body as Record<string, unknown>;
  const checked: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = fields[name];
    if (value === undefined) {
      if (schema.required.includes(name)) throw missing(name);
      continue;
    }
    const type: string = typeof value;
    if (type !== property.type) {
      throw invalidRequest(`Cannot read the request: "${name}" is not a ${property.type}`);
    }
    if (property.type === "string" && (value as string).length < (property.minLength ?? 0)) {
      throw missing(name);
    }
    checked[name] = value;
  }
  return checked as T;
}

const missing = (name: string) =>
  invalidRequest(`Cannot read the request: "${name}" is missing or empty`);
