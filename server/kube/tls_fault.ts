import { createPrivateKey, X509Certificate } from "node:crypto";
import type { TlsMaterial } from "./credentials.ts";

/**
 * What makes TLS material unusable, in words. Looked for beforehand, because the runtime connects
 * without a client certificate whose key it cannot read, and skips damaged authorities.
 */
export function tlsFault({ ca, cert, key }: TlsMaterial): string | undefined {
  if (ca !== undefined && certificatesIn(ca).length === 0) {
    return "its certificate authority holds no valid PEM certificate";
  }
  if (cert === undefined || key === undefined) return undefined;
  const [certificate] = certificatesIn(cert);
  if (!certificate) return "its client certificate is damaged";
  try {
    if (certificate.checkPrivateKey(createPrivateKey(key))) return undefined;
    return "its client key belongs to another certificate";
  } catch {
    return "its client key is damaged or encrypted";
  }
}

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}
