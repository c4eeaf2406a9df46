import {
  base64url,
  compactDecrypt,
  CompactEncrypt,
  errors,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";
import { SEALED_TYPES, sealedTypeOf } from "../../../common/api/session_token.ts";
import type { Identity } from "../../../common/api/wire.ts";
import { unauthenticated } from "../../errors.ts";
import { ExpiringMap } from "../../../common/time/expiring_map.ts";

/** The state of a login while the browser is at the identity provider. */
export interface LoginState {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Where to send the browser after the login. */
  readonly redirect: string;
}

/** A sealed text was refused. The message holds nothing of the text. */
export class SealRejectedError extends Error {
  override readonly name = "SealRejectedError";

  constructor(readonly reason: "expired" | "invalid") {
    super(reason === "expired" ? "it has expired" : "it is not valid");
  }
}

/** Seals and opens sessions and login states. */
export interface SessionCodec {
  sealSession(identity: Identity): Promise<string>;
  /** Returns the identity, or throws `SealRejectedError`. */
  openSession(token: string): Promise<Identity>;
  sealLogin(login: LoginState): Promise<string>;
  /** Returns the login, or throws `SealRejectedError`. */
  openLogin(text: string): Promise<LoginState>;
}

/** Keys and limits of a codec. A missing key is random, so its sessions end with the process. */
export interface SessionCodecOptions {
  readonly signingKey?: Uint8Array | undefined;
  /** 16, 24 or 32 bytes. */
  readonly encryptionKey?: Uint8Array | undefined;
  readonly sessionTtlMs: number;
  readonly now: () => Date;
  /** Called when an identity is too long for a cookie, with the fields that were left out. */
  readonly onShortened?: (identity: Identity, left: "groups" | "groups, display name") => void;
}

/** How long a login may take; holds for the cookie and on the server. */
export const LOGIN_TTL_MS = 10 * 60_000;

const AUDIENCE = { session: "xbind/session", login: "xbind/login" } as const;
type Purpose = keyof typeof SEALED_TYPES;

/** Browsers silently drop a cookie over 4,096 bytes, name included. */
const FULL_SESSION_CHARACTERS = 3_800;
const MAX_SESSION_CHARACTERS = 4_000;
/** No sealed text of ours is longer, so a longer one is not decrypted. */
const MAX_SEALED_CHARACTERS = 16_384;
const CHECKED_TOKENS = 2_000;

/** Creates a codec that signs and then encrypts with the given keys. */
export const createSessionCodec = async (options: SessionCodecOptions): Promise<SessionCodec> => {
  const { sessionTtlMs, now, onShortened } = options;
  const encryptionKey = options.encryptionKey ?? crypto.getRandomValues(new Uint8Array(32));
  const signing = await importSigningKey(
    options.signingKey ?? crypto.getRandomValues(new Uint8Array(64)),
  );
  const encryption = await importEncryptionKey(encryptionKey);
  const enc = `A${encryptionKey.length * 8}GCM`;
  const checked = new ExpiringMap<Identity>(CHECKED_TOKENS, now);

  const seal = async (purpose: Purpose, claims: JWTPayload, ttlMs: number): Promise<string> => {
    const issuedAt = Math.floor(now().getTime() / 1000);
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .setAudience(AUDIENCE[purpose])
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + Math.ceil(ttlMs / 1000))
      .sign(signing);
    // A login carries a URL of up to 2,000 characters, and must still fit into a cookie.
    const zip = purpose === "login" ? { zip: "DEF" } : {};
    return await new CompactEncrypt(new TextEncoder().encode(signed))
      .setProtectedHeader({ alg: "dir", enc, typ: SEALED_TYPES[purpose], ...zip })
      .encrypt(encryption);
  };

  const open = async (purpose: Purpose, text: string): Promise<JWTPayload> => {
    const isPlausible = text.length <= MAX_SEALED_CHARACTERS &&
      sealedTypeOf(text) === SEALED_TYPES[purpose];
    if (!isPlausible || !isCanonical(text)) throw new SealRejectedError("invalid");
    try {
      const { plaintext } = await compactDecrypt(text, encryption, {
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: [enc],
      });
      const { payload } = await jwtVerify(plaintext, signing, {
        algorithms: ["HS256"],
        audience: AUDIENCE[purpose],
        requiredClaims: ["iat", "exp"],
        currentDate: now(),
      });
      return payload;
    } catch (error) {
      throw new SealRejectedError(error instanceof errors.JWTExpired ? "expired" : "invalid");
    }
  };

  return {
    async sealSession(identity) {
      const { subject, displayName } = identity;
      const whole = await seal("session", sessionClaims(identity), sessionTtlMs);
      if (whole.length <= FULL_SESSION_CHARACTERS) return whole;
      const named = { subject, ...(displayName === undefined ? {} : { displayName }) };
      const withoutGroups = await seal("session", sessionClaims(named), sessionTtlMs);
      if (withoutGroups.length <= FULL_SESSION_CHARACTERS) {
        onShortened?.(identity, "groups");
        return withoutGroups;
      }
      const bare = await seal("session", sessionClaims({ subject }), sessionTtlMs);
      if (bare.length > MAX_SESSION_CHARACTERS) {
        throw unauthenticated("the user name is too long for a session");
      }
      onShortened?.(identity, "groups, display name");
      return bare;
    },
    async openSession(token) {
      const known = checked.get(token);
      if (known) return known;
      const claims = await open("session", token);
      const identity = identityIn(claims);
      checked.set(token, identity, Number(claims.exp) * 1000);
      return identity;
    },
    sealLogin: ({ ...claims }) => seal("login", claims, LOGIN_TTL_MS),
    openLogin: async (text) => loginIn(await open("login", text)),
  };
};

/** Whether a text has the form of our sealed texts; no other party should get to see it. */
export const looksLikeOurs = (token: string): boolean => {
  const type = sealedTypeOf(token);
  return type === SEALED_TYPES.session || type === SEALED_TYPES.login;
};

/** Decoding ignores some bits of the last character; only the spelling that we send is accepted. */
const isCanonical = (token: string): boolean =>
  token.split(".").every((part) => {
    try {
      return base64url.encode(base64url.decode(part)) === part;
    } catch {
      return false;
    }
  });

const sessionClaims = ({ subject, displayName, groups }: Identity): JWTPayload => ({
  sub: subject,
  ...(displayName === undefined ? {} : { name: displayName }),
  ...(groups === undefined || groups.length === 0 ? {} : { groups }),
});

const identityIn = ({ sub, name, groups }: JWTPayload): Identity => {
  if (!sub) throw new SealRejectedError("invalid");
  return Object.freeze({
    subject: sub,
    ...(typeof name === "string" ? { displayName: name } : {}),
    ...(isTexts(groups) ? { groups: Object.freeze(groups) } : {}),
  });
};

const loginIn = (claims: JWTPayload): LoginState => ({
  state: textOf(claims.state),
  nonce: textOf(claims.nonce),
  codeVerifier: textOf(claims.codeVerifier),
  redirect: textOf(claims.redirect),
});

const textOf = (value: unknown): string => {
  if (typeof value !== "string") throw new SealRejectedError("invalid");
  return value;
};

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

const importSigningKey = (bytes: Uint8Array): Promise<CryptoKey> =>
  crypto.subtle.importKey(
    "raw",
    new Uint8Array(bytes),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign", "verify"],
  );

const importEncryptionKey = (bytes: Uint8Array): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, ["encrypt", "decrypt"]);
