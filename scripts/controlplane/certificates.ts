import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import {
  bitString,
  type Der,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  pem,
  sequence,
  set,
  time,
  TRUE,
  utf8String,
} from "./der.ts";
import { ipOctets } from "./ip_octets.ts";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/** The time in which a certificate is good. */
export interface Validity {
  notBefore: Date;
  notAfter: Date;
}

interface Template {
  subject: Der;
  extensions: Der[];
  validity: Validity;
}

const ECDSA_WITH_SHA256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));
const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const HOUR_MS = 3_600_000;

/** An hour back, so that a clock a little behind accepts it, and ten years ahead. */
const defaultValidity = (): Validity => ({
  notBefore: new Date(Date.now() - HOUR_MS),
  notAfter: new Date(Date.now() + 10 * 365 * 24 * HOUR_MS),
});

const attribute = (type: string, value: string): Der =>
  set(sequence(objectIdentifier(type), utf8String(value)));

const extension = (id: string, value: Der, critical = false): Der =>
  sequence(objectIdentifier(id), ...(critical ? [TRUE] : []), octetString(value));

const basicConstraints = (isCa: boolean) =>
  extension("2.5.29.19", isCa ? sequence(TRUE) : sequence(), true);
const keyUsage = (octet: number, unusedBits: number) =>
  extension("2.5.29.15", bitString(Uint8Array.of(octet), unusedBits), true);
const extendedKeyUsage = (purpose: string) =>
  extension("2.5.29.37", sequence(objectIdentifier(purpose)));
const CERTIFICATE_AND_CRL_SIGNING = keyUsage(0b0000_0110, 1);
const DIGITAL_SIGNATURE = keyUsage(0b1000_0000, 7);

const subjectAltName = (names: string[]): Der =>
  extension(
    "2.5.29.17",
    sequence(...names.map((name) => {
      const ip = ipOctets(name);
      return ip ? implicit(7, ip) : implicit(2, new TextEncoder().encode(name));
    })),
  );

const publicKeyInfo = (key: KeyObject): Uint8Array => key.export({ type: "spki", format: "der" });

const keyIdentifier = (spki: Uint8Array): Uint8Array => createHash("sha1").update(spki).digest();

const serialNumber = (): Der => {
  const octets = randomBytes(16);
  octets[0] = ((octets[0] ?? 0) & 0x7f) | 0x40; // positive, and always 16 octets long
  return integer(octets);
};

const newKeyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const newRsaKeyPair = () => generateKeyPairSync("rsa", { modulusLength: 2048 });

const keyPem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

const signedCertificate = (
  template: Template,
  subjectKey: Uint8Array,
  issuer: { name: Der; spki: Uint8Array; key: KeyObject },
): string => {
  const { notBefore, notAfter } = template.validity;
  const extensions = sequence(
    ...template.extensions,
    extension("2.5.29.14", octetString(keyIdentifier(subjectKey))),
    extension("2.5.29.35", sequence(implicit(0, keyIdentifier(issuer.spki)))),
  );
  const toBeSigned = sequence(
    explicit(0, integer(Uint8Array.of(2))), // version 3
    serialNumber(),
    ECDSA_WITH_SHA256,
    issuer.name,
    sequence(time(notBefore), time(notAfter)),
    template.subject,
    subjectKey,
    explicit(3, extensions),
  );
  const signature = bitString(sign("sha256", toBeSigned, issuer.key));
  return pem("CERTIFICATE", sequence(toBeSigned, ECDSA_WITH_SHA256, signature));
};

const issue = (
  authority: Certificate,
  template: Template,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject } = newKeyPair(),
): Certificate => {
  const { subject, publicKey: issuerKey } = new X509Certificate(authority.cert);
  const issuer = {
    name: sequence(attribute(COMMON_NAME, subject.replace(/^CN=/, ""))),
    spki: publicKeyInfo(issuerKey),
    key: createPrivateKey(authority.key),
  };
  const cert = signedCertificate(template, publicKeyInfo(publicKey), issuer);
  return { cert, key: keyPem(privateKey) };
};

/** A new self-signed certificate authority, known by its common name alone. */
export const createAuthority = (
  commonName: string,
  validity: Validity = defaultValidity(),
): Certificate => {
  const { publicKey, privateKey } = newKeyPair();
  const spki = publicKeyInfo(publicKey);
  const subject = sequence(attribute(COMMON_NAME, commonName));
  const extensions = [basicConstraints(true), CERTIFICATE_AND_CRL_SIGNING];
  const issuer = { name: subject, spki, key: privateKey };
  const cert = signedCertificate({ subject, extensions, validity }, spki, issuer);
  return { cert, key: keyPem(privateKey) };
};

/** What a server proves itself with: P-256 is fast, RSA with 2048 bits is what kubeadm makes. */
export type ServerKey = "P-256" | "RSA-2048";

/** A certificate for a TLS server that is reached under the given host names and IP addresses. */
export const issueServerCertificate = (
  authority: Certificate,
  names: [string, ...string[]],
  { validity = defaultValidity(), key = "P-256" }: { validity?: Validity; key?: ServerKey } = {},
): Certificate => {
  const template = {
    subject: sequence(attribute(COMMON_NAME, names[0])),
    extensions: [
      basicConstraints(false),
      DIGITAL_SIGNATURE,
      extendedKeyUsage(SERVER_AUTH),
      subjectAltName(names),
    ],
    validity,
  };
  return issue(authority, template, key === "P-256" ? newKeyPair() : newRsaKeyPair());
};

/** A certificate by which Kubernetes knows a user (CN) and its groups (O). */
export const issueClientCertificate = (
  authority: Certificate,
  user: string,
  groups: string[] = [],
  validity: Validity = defaultValidity(),
): Certificate =>
  issue(authority, {
    subject: sequence(
      ...groups.map((group) => attribute(ORGANIZATION, group)),
      attribute(COMMON_NAME, user),
    ),
    extensions: [basicConstraints(false), DIGITAL_SIGNATURE, extendedKeyUsage(CLIENT_AUTH)],
    validity,
  });

/** A key pair (PEM) of the kind that signs ServiceAccount tokens. */
export const createSigningKey = (): { publicKey: string; privateKey: string } => {
  const { publicKey, privateKey } = newKeyPair();
  return {
    publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
    privateKey: keyPem(privateKey),
  };
};
