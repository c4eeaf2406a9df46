import assert from "node:assert/strict";
import { ConfigError } from "./config_error.ts";
import { readPemFile } from "./pem_file.ts";

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIUS9l9wX3OJCai0nw+lI9MsCvMDOEwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNeGJpbmQtdGVzdC1jYTAgFw0yNjExMTUwMjE0MzBaGA8yMTI2
MTAyMjAyMTQzMFowGDEWMBQGA1UEAwwNeGJpbmQtdGVzdC1jYTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABD6W0+OH2Ajd8E7pk4+TOrkqMOOQeYdGbqHebbDGc3L8
hZJxDGMmMk96a2XlwEukRAAIjkAg9vKnu/qmHIT+Y+WjUzBRMB0GA1UdDgQWBBQ8
5AGPnZ47/jkqb1AL4Kjbf+LRPzAfBgNVHSMEGDAWgBQ85AGPnZ47/jkqb1AL4Kjb
f+LRPzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCc+AzrGamW
Rsyza3Rbfdrwd4uqdBQvQFq/gzKnkfmvegIgJZpQvFtHoUHJ8xx2laWJCwpdpz6n
nLYZKfxVTRF/JcY=
-----END CERTIFICATE-----`;
const block = (label: string, body: string) =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`;

const inTempDir = async (test: (path: (name: string) => string) => Promise<void>) => {
  const directory = await Deno.makeTempDir();
  try {
    await test((name) => `${directory}/${name}`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
};

const problemOf = async (path: string): Promise<string> => {
  try {
    await readPemFile("oidc-ca-file", path);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.problems.length, 1);
    return error.problems[0] ?? "";
  }
  return "no problem";
};

Deno.test("readPemFile() returns only the certificates of the file, and all of them", () =>
  inTempDir(async (path) => {
    const key = block("PRIVATE KEY", "bm90IGEga2V5");
    const text = `# my CA\r\n${key}\n${CERTIFICATE}\nsubject=x\n${CERTIFICATE}\n${key}`;
    await Deno.writeTextFile(path("ca.pem"), text);
    const certificates = await readPemFile("external-ca-file", path("ca.pem"));
    assert.equal(certificates, `${CERTIFICATE}\n${CERTIFICATE}\n`);
  }));

Deno.test("readPemFile() names the flag, the file and the fault", async (t) => {
  await inTempDir(async (path) => {
    const damaged = CERTIFICATE.replace("MIIBhzCC", "AAAAAAAA");
    const noCertificate = "it holds no PEM certificate (-----BEGIN CERTIFICATE-----)";
    const files: readonly [string, string, string][] = [
      ["empty", "", noCertificate],
      ["key", block("PRIVATE KEY", "bm90IGEga2V5"), noCertificate],
      ["cut", CERTIFICATE.slice(0, 300), "certificate 1 of 1 is damaged"],
      ["damaged", `${CERTIFICATE}\n${damaged}`, "certificate 2 of 2 is damaged"],
      ["damaged first", `${damaged}\n${CERTIFICATE}`, "certificate 1 of 2 is damaged"],
      ["garbage", block("CERTIFICATE", "%%%%"), "certificate 1 of 1 is damaged"],
      ["large", "x".repeat(1024 * 1024 + 1), "it is over 1 MiB, too large for a CA bundle"],
    ];
    for (const [name, text, fault] of files) {
      await t.step(name, async () => {
        await Deno.writeTextFile(path(name), text);
        const expected = `--oidc-ca-file: cannot use ${JSON.stringify(path(name))}: ${fault}`;
        assert.equal(await problemOf(path(name)), expected);
      });
    }
    const paths: readonly [string, string, RegExp][] = [
      ["a missing file", path("missing"), /missing": it does not exist$/],
      ["a directory", path(""), /it is a directory, name a file in it$/],
      ["a device that never ends", "/dev/zero", /it is not a regular file$/],
    ];
    for (const [name, file, fault] of paths) {
      await t.step(name, async () => assert.match(await problemOf(file), fault));
    }
    await t.step({
      name: "a file of another user",
      ignore: Deno.uid() === 0, // root reads everything
      fn: async () => {
        await Deno.writeTextFile(path("private"), CERTIFICATE, { mode: 0 });
        assert.match(await problemOf(path("private")), /this user may not read it$/);
      },
    });
  });
});

Deno.test({
  name: "readPemFile() says when the process lacks the permission",
  permissions: { read: false },
  fn: async () => {
    assert.match(await problemOf("/some/ca.pem"), /this process may not read it \(--allow-read\)$/);
  },
});
