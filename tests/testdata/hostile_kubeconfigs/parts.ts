import { Buffer } from "node:buffer";
import {
  createAuthority,
  issueClientCertificate,
} from "../../../scripts/controlplane/certificates.ts";

/** Encodes text as base64. */
export const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64");

const authority = await createAuthority("hostile");

/** An authority and two client certificates that it signed. */
export const PEMS = {
  ca: authority.cert,
  alice: await issueClientCertificate(authority, "alice"),
  bob: await issueClientCertificate(authority, "bob"),
} as const;

/** A valid cluster and a valid user. */
export const GOOD_CLUSTER = {
  server: "https://consumer.example.org:6443",
  "certificate-authority-data": base64(PEMS.ca),
};
export const GOOD_USER = { token: "a.token" };

/** Returns a kubeconfig whose only context has this cluster and this user. */
export const configOf = (
  cluster: object | null = GOOD_CLUSTER,
  user: object | null = GOOD_USER,
) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster }],
  users: [{ name: "u", user }],
  contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  "current-context": "x",
});

/** Encodes a kubeconfig as callers send it. */
export const submitted = (config: unknown): string =>
  Buffer.from(typeof config === "string" ? config : JSON.stringify(config)).toString("base64");
