import { isIP } from "node:net";
import type { Extension, JsonGeneralNames, JsonName } from "@peculiar/x509";

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

/** The key of a server: P-256 is fast, RSA with 2048 bits is what kubeadm makes. */
export type ServerKey = "P-256" | "RSA-2048";

interface Request {
  subject: JsonName;
  extensions: Extension[];
  validity?: Validity | undefined;
  key?: ServerKey;
}

type Library = typeof import("@peculiar/x509");

const KEYS = {
  "P-256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  "RSA-2048": {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    publicExponent: Uint8Array.of(1, 0, 1),
    modulusLength: 2048,
  },
};
const HOUR_MS = 3_600_000;

/** Creates a self-signed certificate authority with nothing but a common name. */
export async function createAuthority(
  commonName: string,
  validity?: Validity,
): Promise<Certificate> {
  const x509 = await loadLibrary();
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  return await issue(x509, {
    subject: [{ CN: [commonName] }],
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
    ],
    validity,
  });
}

/** Issues a certificate for a TLS server with these host names and IP addresses. */
export async function issueServerCertificate(
  authority: Certificate,
  names: [string, ...string[]],
  { validity, key = "P-256" }: { validity?: Validity; key?: ServerKey } = {},
): Promise<Certificate> {
  const x509 = await loadLibrary();
  const altNames: JsonGeneralNames = names.map((value) => ({
    type: isIP(value) ? "ip" : "dns",
    value,
  }));
  const extensions = [
    ...leafExtensions(x509, x509.ExtendedKeyUsage.serverAuth),
    new x509.SubjectAlternativeNameExtension(altNames),
  ];
  return await issue(x509, { subject: [{ CN: [names[0]] }], extensions, validity, key }, authority);
}

/** Issues a certificate by which Kubernetes knows a user (CN) and its groups (O). */
export async function issueClientCertificate(
  authority: Certificate,
  user: string,
  groups: string[] = [],
  validity?: Validity,
): Promise<Certificate> {
  const x509 = await loadLibrary();
  const subject = [...groups.map((group) => ({ O: [group] })), { CN: [user] }];
  const extensions = leafExtensions(x509, x509.ExtendedKeyUsage.clientAuth);
  return await issue(x509, { subject, extensions, validity }, authority);
}

/** Creates a key pair (PEM) of the kind that signs ServiceAccount tokens. */
export async function createSigningKey(): Promise<{ publicKey: string; privateKey: string }> {
  const x509 = await loadLibrary();
  const { publicKey, privateKey } = await newKeyPair();
  return {
    publicKey: await keyPem(x509, "spki", publicKey),
    privateKey: await keyPem(x509, "pkcs8", privateKey),
  };
}

/** Loads the library on first use: most tests need no certificate, and loading takes 0.2 s. */
const loadLibrary = async (): Promise<Library> => {
  await import("reflect-metadata"); // the library fails to load without it
  const library = await import("@peculiar/x509");
  library.cryptoProvider.set(crypto);
  return library;
};

/** Makes a certificate with a new key, signed by the authority or, without one, by itself. */
const issue = async (
  x509: Library,
  { subject, extensions, validity = defaultValidity(), key }: Request,
  authority?: Certificate,
): Promise<Certificate> => {
  const keys = await newKeyPair(key);
  const issuer = authority ? await signerOf(x509, authority) : { name: subject, ...keys };
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.name,
    publicKey: keys.publicKey,
    signingKey: issuer.privateKey,
    ...validity,
    extensions: [
      ...extensions,
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  const cert = `${certificate.toString("pem")}\n`;
  return { cert, key: await keyPem(x509, "pkcs8", keys.privateKey) };
};

const signerOf = async (x509: Library, { cert, key }: Certificate) => {
  const { subjectName, publicKey } = new x509.X509Certificate(cert);
  const der = x509.PemConverter.decodeFirst(key);
  const privateKey = await crypto.subtle.importKey("pkcs8", der, KEYS["P-256"], false, ["sign"]);
  return { name: subjectName.toJSON(), publicKey, privateKey };
};

const leafExtensions = (x509: Library, usage: string): Extension[] => [
  new x509.BasicConstraintsExtension(false, undefined, true),
  new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
  new x509.ExtendedKeyUsageExtension([usage]),
];

const newKeyPair = async (kind: ServerKey = "P-256"): Promise<CryptoKeyPair> =>
  await crypto.subtle.generateKey(KEYS[kind], true, ["sign", "verify"]) as CryptoKeyPair;

const keyPem = async (x509: Library, format: "pkcs8" | "spki", key: CryptoKey): Promise<string> => {
  const label = format === "pkcs8" ? "PRIVATE KEY" : "PUBLIC KEY";
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey(format, key), label)}\n`;
};

/** From an hour ago, for clocks that are slow, to ten years ahead. */
const defaultValidity = (): Validity => ({
  notBefore: new Date(Date.now() - HOUR_MS),
  notAfter: new Date(Date.now() + 10 * 365 * 24 * HOUR_MS),
});
