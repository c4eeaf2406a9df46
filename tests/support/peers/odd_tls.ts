import "reflect-metadata"; // the library needs it loaded first
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { Buffer } from "node:buffer";
import net from "node:net";

cryptoProvider.set(crypto);

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const RSA = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  publicExponent: Uint8Array.of(1, 0, 1),
  modulusLength: 2048,
};
/** An RSA key that is too short for TLS. */
export const SHORT_RSA = { ...RSA, modulusLength: 1024 };
const DAY_MS = 24 * 3_600_000;
const HOST = "127.0.0.1";
const SUBJECT_ALT_NAME = "2.5.29.17";

type Algorithm = typeof ECDSA | typeof RSA | { readonly name: "Ed25519" };

/** The deviations of a certificate from a good one. */
interface Oddity {
  readonly subject?: string;
  readonly serialNumber?: string;
  readonly days?: readonly [from: number, to: number];
  readonly names?: readonly { type: "dns" | "ip"; value: string }[] | "none";
  readonly extensions?: readonly Extension[];
  readonly algorithm?: Algorithm;
  readonly selfSigned?: boolean;
}

/** An authority that signs odd server certificates. */
export class OddAuthority {
  readonly cert: string;
  readonly #keys: CryptoKeyPair;

  private constructor(cert: string, keys: CryptoKeyPair) {
    this.cert = cert;
    this.#keys = keys;
  }

  static async create(): Promise<OddAuthority> {
    const keys = await keyPair(ECDSA);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: "CN=odd authority",
      keys,
      signingAlgorithm: ECDSA,
      ...lifetime([-1, 100]),
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    return new OddAuthority(`${certificate.toString("pem")}\n`, keys);
  }

  /** Issues a certificate for 127.0.0.1 with these deviations, and its key. */
  async issue(oddity: Oddity = {}): Promise<{ cert: string; key: string }> {
    const { algorithm = ECDSA, names = [{ type: "ip", value: HOST }], extensions = [] } = oddity;
    const keys = await keyPair(algorithm);
    const altNames = names === "none" ? [] : [new SubjectAlternativeNameExtension([...names])];
    const certificate = await X509CertificateGenerator.create({
      subject: oddity.subject ?? "CN=odd server",
      issuer: oddity.selfSigned ? oddity.subject ?? "CN=odd server" : "CN=odd authority",
      publicKey: keys.publicKey,
      signingKey: oddity.selfSigned ? keys.privateKey : this.#keys.privateKey,
      signingAlgorithm: oddity.selfSigned ? algorithm : ECDSA,
      ...(oddity.serialNumber === undefined ? {} : { serialNumber: oddity.serialNumber }),
      ...lifetime(oddity.days ?? [-1, 100]),
      extensions: [...altNames, ...extensions],
    });
    const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
    return { cert: `${certificate.toString("pem")}\n`, key: pem("PRIVATE KEY", key) };
  }
}

const keyPair = async (algorithm: Algorithm): Promise<CryptoKeyPair> =>
  await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as CryptoKeyPair;

const lifetime = ([from, to]: readonly [number, number]) => ({
  notBefore: new Date(Date.now() + from * DAY_MS),
  notAfter: new Date(Date.now() + to * DAY_MS),
});

const pem = (kind: string, der: Uint8Array): string =>
  `-----BEGIN ${kind}-----\n${Buffer.from(der).toString("base64")}\n-----END ${kind}-----\n`;

/** A PEM block that no certificate parser accepts. */
export const DAMAGED_CERTIFICATE = pem(
  "CERTIFICATE",
  Uint8Array.from({ length: 300 }, (_, i) => (i * 37 + 11) % 256),
);

/** A server with odd TLS. */
export interface OddServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts one odd server. */
export type StartOddServer = (authority: OddAuthority) => Promise<OddServer>;

/** Starts a TLS server with this chain, which answers HTTP with an error. */
const tlsServer = (chain: string, key: string): OddServer => {
  const listener = Deno.listenTls({ hostname: HOST, port: 0, cert: chain, key });
  const connections = new Set<Deno.TlsConn>();
  const serving = (async () => {
    for (;;) {
      try {
        const connection = await listener.accept();
        connections.add(connection);
        void answer(connection).finally(() => connections.delete(connection));
      } catch (error) {
        if (error instanceof Deno.errors.BadResource) return;
        if (error instanceof Deno.errors.Interrupted) return;
      }
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) close(connection);
      await serving;
    },
  };
};

async function answer(connection: Deno.TlsConn): Promise<void> {
  try {
    if (await connection.read(new Uint8Array(4096)) === null) return;
    const text = "HTTP/1.1 500 Odd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    await connection.write(new TextEncoder().encode(text));
  } catch {
    // The client refused the certificate, as expected.
  } finally {
    close(connection);
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
}

/** Starts a TCP server that handles every connection with `serve`. */
const rawServer = (serve: (socket: net.Socket) => void): StartOddServer => async () => {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

const chain = (
  oddity: Oddity,
  around: (leaf: string, authority: OddAuthority) => string = (leaf) => leaf,
): StartOddServer =>
async (authority) => {
  const { cert, key } = await authority.issue(oddity);
  return tlsServer(around(cert, authority), key);
};

const onHello = (bytes: number[] | "close" | "reset"): StartOddServer =>
  rawServer((socket) => {
    socket.once("data", () => {
      if (bytes === "close") socket.end();
      else if (bytes === "reset") socket.resetAndDestroy();
      else socket.end(Uint8Array.from(bytes));
    });
  });

const alert = (description: number): number[] => [21, 3, 3, 0, 2, 2, description];
const altNames = (...der: number[]) => new Extension(SUBJECT_ALT_NAME, false, Uint8Array.from(der));

/** Servers that no client may trust, or that fail in the middle of a handshake. */
export const ODD_SERVERS: Readonly<Record<string, StartOddServer>> = {
  "a damaged certificate behind the leaf": chain({}, (leaf) => leaf + DAMAGED_CERTIFICATE),
  "an empty certificate behind the leaf": chain(
    {},
    (leaf) => leaf + pem("CERTIFICATE", Uint8Array.of(0x30, 0)),
  ),
  "a truncated certificate behind the leaf": chain({}, (leaf, { cert }) => {
    const der = Buffer.from(cert.replace(/-----[^-]+-----/g, ""), "base64");
    return leaf + pem("CERTIFICATE", der.subarray(0, der.length - 20));
  }),
  "a damaged certificate behind the authority": chain(
    {},
    (leaf, { cert }) => leaf + cert + DAMAGED_CERTIFICATE,
  ),
  "a self-signed leaf": chain({ selfSigned: true }),
  "an expired leaf": chain({ days: [-9, -2] }),
  "a leaf that is not valid yet": chain({ days: [2, 9] }),
  "another host's leaf": chain({ names: [{ type: "dns", value: "other.example" }] }),
  "a leaf without names": chain({ names: "none" }),
  "a wildcard for all hosts": chain({ names: [{ type: "dns", value: "*" }] }),
  "an address of five bytes": chain({
    names: "none",
    extensions: [altNames(0x30, 7, 0x87, 5, 127, 0, 0, 1, 1)],
  }),
  "a name with a zero byte": chain({
    names: "none",
    extensions: [altNames(0x30, 6, 0x82, 4, 0x61, 0, 0x2e, 0x62)],
  }),
  "malformed names": chain({ names: "none", extensions: [altNames(0x30, 2, 0x82, 9)] }),
  "a leaf for clients only": chain({
    extensions: [new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth], true)],
  }),
  "a close before the hello": rawServer((socket) => socket.end()),
  "a reset before the hello": rawServer((socket) => socket.resetAndDestroy()),
  "a close after the hello": onHello("close"),
  "a reset after the hello": onHello("reset"),
  "a fatal alert: handshake failure": onHello(alert(40)),
  "a fatal alert: unknown name": onHello(alert(112)),
  "a fatal alert that does not exist": onHello(alert(255)),
  "a warning, then nothing": onHello([21, 3, 3, 0, 2, 1, 0]),
  "a record that is too long": onHello([22, 3, 3, 255, 255, ...Array(1_000).fill(1)]),
  "half a record": onHello([22, 3, 3, 1, 0, 2, 0]),
  "a hello of zeros": onHello([22, 3, 3, 0, 4, 2, 0, 0, 0]),
  "plain HTTP": onHello([...new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n")]),
  "noise": onHello(Array.from({ length: 4_000 }, (_, i) => (i * 151 + 7) % 256)),
};

/** Servers with harmless oddities: every client must reach their HTTP. */
export const HARMLESS_SERVERS: Readonly<Record<string, StartOddServer>> = {
  "an ordinary leaf": chain({}),
  "the authority behind the leaf": chain({}, (leaf, { cert }) => leaf + cert),
  "the leaf twice": chain({}, (leaf) => leaf + leaf),
  "a chain of forty": chain({}, (leaf, { cert }) => leaf + cert.repeat(39)),
  "an RSA key": chain({ algorithm: RSA }),
  "an Ed25519 key": chain({ algorithm: { name: "Ed25519" } }),
  "a long subject": chain({ subject: `CN=${"x".repeat(4_000)}` }),
  "a long serial number": chain({ serialNumber: "7f".repeat(20) }),
  "a thousand names": chain({
    names: [
      { type: "ip", value: HOST },
      ...Array.from(
        { length: 1_000 },
        (_, i) => ({ type: "dns" as const, value: `h${i}.example` }),
      ),
    ],
  }),
};
