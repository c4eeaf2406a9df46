import { X509Certificate } from "node:crypto";

const BEGIN = /-----BEGIN CERTIFICATE-----/g;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM text as separate blocks; `damaged` counts those that cannot be read. */
export interface PemCertificates {
  readonly blocks: readonly string[];
  readonly parsed: readonly X509Certificate[];
  /** Positions from 1, in the order of the text. */
  readonly damaged: readonly number[];
}

/**
 * Reads every certificate of a PEM text. TLS must never see a damaged one: Deno skips it in silence
 * first, and throws where nobody can catch it later.
 */
export function pemCertificates(pem: string): PemCertificates {
  const blocks = pem.match(BLOCK) ?? [];
  const parsed: X509Certificate[] = [];
  const damaged: number[] = [];
  blocks.forEach((block, i) => {
    try {
      parsed.push(new X509Certificate(block));
    } catch {
      damaged.push(i + 1);
    }
  });
  // A block that does not end, or that holds another, is not found by the pattern.
  const unfinished = (pem.match(BEGIN) ?? []).length - blocks.length;
  for (let i = 1; i <= unfinished; i++) damaged.push(blocks.length + i);
  return { blocks, parsed, damaged };
}
