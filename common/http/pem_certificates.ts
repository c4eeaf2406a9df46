import { X509Certificate } from "node:crypto";

const BEGIN = /-----BEGIN CERTIFICATE-----/g;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, one block each. */
export interface PemCertificates {
  readonly blocks: readonly string[];
  readonly parsed: readonly X509Certificate[];
  /** Positions of unreadable ones, from 1. */
  readonly damaged: readonly number[];
}

/**
 * Reads every certificate of a PEM text. Never pass a damaged one to TLS: Deno skips it silently at
 * first, and later throws where no code can catch it.
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
  // The pattern does not match a block without an end, or one inside another.
  const unfinished = (pem.match(BEGIN) ?? []).length - blocks.length;
  for (let i = 1; i <= unfinished; i++) damaged.push(blocks.length + i);
  return { blocks, parsed, damaged };
}
