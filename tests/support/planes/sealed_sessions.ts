import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { sessionKeys } from "../worlds/gateway_world.ts";

const TTL_MS = 3_600_000;

/** Sessions for any number of identities, without logins. */
export interface SealedSessions {
  /** The environment of a backend that accepts them. */
  readonly env: Readonly<Record<string, string>>;
  /** The same keys as flags. */
  readonly flags: readonly string[];
  /** Makes a session token; the same word is the same identity. */
  seal(who: string, groups?: readonly string[]): Promise<string>;
}

/** The subject of a sealed session. */
export const sealedSubject = (who: string): string => `https://idp.example.org#${who}`;

/** Makes new keys, and sessions that are sealed with them. */
export async function sealedSessions(): Promise<SealedSessions> {
  const { env, ...keys } = sessionKeys();
  const codec = await createSessionCodec({ ...keys, sessionTtlMs: TTL_MS, now: () => new Date() });
  return {
    env,
    flags: [
      `--cookie-signing-key=${keys.signingKey.toBase64()}`,
      `--cookie-encryption-key=${keys.encryptionKey.toBase64()}`,
    ],
    seal: (who, groups) =>
      codec.sealSession({
        subject: sealedSubject(who),
        ...(groups ? { groups: [...groups] } : {}),
      }),
  };
}
