import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import {
  type Certificate,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from "./certificates.ts";

const authority = await createAuthority("test authority");
const yesterday = new Date(Date.now() - 86_400_000);
const lastYear = new Date(Date.now() - 365 * 86_400_000);

/** The extended key usages, found by their encoding: `X509Certificate` does not tell them here. */
const purposes = ({ raw }: X509Certificate) =>
  Object.entries({ server: "06082b06010505070301", client: "06082b06010505070302" })
    .filter(([, oid]) => raw.toString("hex").includes(oid)).map(([name]) => name);

/** What a server that asks for client certificates learns of one client, or why it failed. */
const handshake = async (
  server: Certificate,
  options: { host?: string; ca?: string; client?: Certificate } = {},
): Promise<{ user: string; groups: string[] } | { error: string }> => {
  const accepted = Promise.withResolvers<TLSSocket>();
  const listener = createServer(
    { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: false },
    accepted.resolve,
  );
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const socket = connect({
    port: (listener.address() as AddressInfo).port,
    host: "127.0.0.1",
    servername: options.host ?? "localhost",
    ca: options.ca ?? authority.cert,
    ...options.client,
  });
  try {
    await once(socket, "secureConnect");
    const peer = await accepted.promise;
    const { subject } = peer.getPeerCertificate() as { subject?: { CN: string; O?: unknown } };
    peer.destroy();
    return { user: subject?.CN ?? "", groups: [subject?.O ?? []].flat() as string[] };
  } catch (error) {
    return { error: (error as Error).message };
  } finally {
    socket.destroy();
    listener.close();
  }
};

Deno.test("await createAuthority() makes a version 3 certificate authority", () => {
  const parsed = new X509Certificate(authority.cert);
  assert.equal(parsed.ca, true);
  assert.equal(parsed.subject, "CN=test authority");
  assert.equal(parsed.issuer, "CN=test authority");
  assert.ok(parsed.verify(parsed.publicKey));
  assert.ok(parsed.raw.toString("hex").includes("a003020102"), "version 3");
});

Deno.test("await issueServerCertificate() names its hosts and verifies against the authority", async () => {
  const { cert } = await issueServerCertificate(authority, ["localhost", "127.0.0.1", "::1"]);
  const parsed = new X509Certificate(cert);
  assert.ok(parsed.verify(new X509Certificate(authority.cert).publicKey));
  assert.equal(parsed.ca, false);
  assert.equal(parsed.issuer, "CN=test authority");
  assert.match(parsed.subjectAltName ?? "", /DNS:localhost, IP Address:127\.0\.0\.1, IP Address:/);
  assert.deepEqual(purposes(parsed), ["server"]);
});

Deno.test("await issueClientCertificate() carries the user and its groups", async () => {
  const { cert } = await issueClientCertificate(authority, "ada", ["dev", "system:masters"]);
  const parsed = new X509Certificate(cert);
  assert.deepEqual(parsed.subject.split("\n"), ["O=dev", "O=system:masters", "CN=ada"]);
  assert.deepEqual(purposes(parsed), ["client"]);
});

Deno.test("certificates have serial numbers of their own and the validity asked for", async () => {
  const validity = { notBefore: lastYear, notAfter: yesterday };
  const issue = async () =>
    new X509Certificate((await issueClientCertificate(authority, "ada", [], validity)).cert);
  const [a, b] = [await issue(), await issue()];
  assert.notEqual(a.serialNumber, b.serialNumber);
  assert.equal(new Date(a.validTo).getTime(), Math.floor(yesterday.getTime() / 1000) * 1000);
  assert.equal(new Date(a.validFrom).getTime(), Math.floor(lastYear.getTime() / 1000) * 1000);
});

Deno.test("a TLS handshake accepts both certificates and shows the user", async () => {
  const server = await issueServerCertificate(authority, ["localhost", "127.0.0.1"]);
  const client = await issueClientCertificate(authority, "ada", ["dev", "ops"]);
  assert.deepEqual(await handshake(server, { client }), { user: "ada", groups: ["dev", "ops"] });
});

Deno.test("a TLS handshake accepts a server with an RSA key", async () => {
  const server = await issueServerCertificate(authority, ["localhost"], { key: "RSA-2048" });
  assert.equal(new X509Certificate(server.cert).publicKey.asymmetricKeyType, "rsa");
  assert.deepEqual(await handshake(server), { user: "", groups: [] });
});

Deno.test("a TLS handshake refuses", async (t) => {
  const good = await issueServerCertificate(authority, ["localhost"]);
  const validity = { notBefore: lastYear, notAfter: yesterday };
  const expired = await issueServerCertificate(authority, ["localhost"], { validity });
  const client = await issueClientCertificate(authority, "localhost");
  const { cert: ca } = await createAuthority("test authority");
  const cases: [string, Promise<unknown>, RegExp][] = [
    ["an expired server certificate", handshake(expired), /expired|verif/i],
    ["a client certificate in place of the server's", handshake(client), /purpose|verif/i],
    ["another host name", handshake(good, { host: "example.org" }), /name|altnames/i],
    ["another authority, same name", handshake(good, { ca }), /unknown|issuer|signature|verif/i],
  ];
  for (const [what, outcome, message] of cases) {
    await t.step(what, async () => {
      const { error } = await outcome as { error?: string };
      assert.match(error ?? "no error", message);
    });
  }
});
