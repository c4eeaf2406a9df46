import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { sessionKeys } from "../worlds/gateway_world.ts";

const TTL_MS = 3_600_000;

/** Sessions for as many people as a test wants, without a login each. */
export interface SealedSessions {
  /** For every backend that is to accept them. */
  readonly env: Readonly<Record<string, string>>;
  /** The same as flags. */
  readonly flags: readonly string[];
  /** A token of somebody; the same word is the same identity. */
  seal(who: string): Promise<string>;
}

/** The identity that a sealed session has. */
export const sealedSubject = (who: string): string => `https://idp.example.org#${who}`;

/** New keys, and sessions that are sealed with them. */
export async function sealedSessions(): Promise<SealedSessions> {
  const { env, ...keys } = sessionKeys();
  const codec = await createSessionCodec({ ...keys, sessionTtlMs: TTL_MS, now: () => new Date() });
  return {
    env,
    flags: [
      `--cookie-signing-key=${keys.signingKey.toBase64()}`,
      `--cookie-encryption-key=${keys.encryptionKey.toBase64()}`,
    ],
    seal: (who) => codec.sealSession({ subject: sealedSubject(who) }),
  };
}
