import { createPrivateKey } from "node:crypto";
import { createSecureContext } from "node:tls";
import { pemCertificates } from "../http/pem_certificates.ts";
import type { TlsMaterial } from "./credentials.ts";

/**
 * Returns the fault of unusable TLS material. Check it first: the runtime connects without a client
 * certificate if it cannot read its key, and throws late over a damaged CA.
 */
export function tlsFault({ ca, cert, key }: TlsMaterial): string | undefined {
  if (ca !== undefined) {
    const { parsed, damaged } = pemCertificates(ca);
    if (parsed.length === 0) {
      return "its certificate authority holds no valid PEM certificate";
    }
    if (damaged.length > 0) {
      return `its certificate authority holds a damaged certificate (number ${damaged[0]})`;
    }
  }
  if (cert === undefined || key === undefined) return undefined;
  const { parsed: [certificate], damaged } = pemCertificates(cert);
  if (!certificate || damaged.length > 0) return "its client certificate is damaged";
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(key))) {
      return "its client key belongs to another certificate";
    }
  } catch {
    return "its client key is damaged or encrypted";
  }
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    const isShort = (error as { code?: unknown }).code === "ERR_OSSL_SSL_KEY_TOO_SMALL";
    return isShort
      ? "its client key is too short for TLS; use RSA of 2048 bits or more, or ECDSA"
      : "its client certificate and key cannot be used for TLS";
  }
}
