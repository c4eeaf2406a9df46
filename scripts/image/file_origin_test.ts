import assert from "node:assert/strict";
import { type AskDpkg, certificatesOrigin, glibcVersion, libraryOrigin } from "./file_origin.ts";

const NO_FILE = "/lib/none-linux-gnu/libc.so.6";
const nothing: AskDpkg = () => Promise.resolve(undefined);
const bytes = (text: string) => new TextEncoder().encode(text);

/** A dpkg that knows one package, with one file. */
const dpkg = (file: string): AskDpkg => ([command, ...args]) => {
  if (command === "--search") {
    return Promise.resolve(args[0] === file ? `libc6:amd64: ${file}\n` : undefined);
  }
  const isKnown = args.at(-1) === "libc6:amd64" || args.at(-1) === "ca-certificates";
  return Promise.resolve(isKnown ? `${args.at(-1)?.split(":")[0]} 2.36-9+deb12u14 amd64\n` : "");
};

Deno.test("libraryOrigin() names the package of a file, with or without /usr", async (t) => {
  for (const known of [NO_FILE, `/usr${NO_FILE}`]) {
    await t.step(`that dpkg knows as ${known}`, async () => {
      assert.deepEqual(await libraryOrigin(NO_FILE, bytes(""), dpkg(known), "debian-12"), {
        name: "libc6",
        version: "2.36-9+deb12u14",
        purl: "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12",
        sourceInfo: "dpkg of debian-12 on the build machine",
        relation: "EXPANDED_FROM_ARCHIVE",
      });
    });
  }
});

Deno.test("libraryOrigin() reads the version from the file without dpkg, and says so", async () => {
  const libc = bytes("\0GNU C Library (Fedora) stable release version 2.41.\n");
  const { name, version, purl, sourceInfo } = await libraryOrigin(NO_FILE, libc, nothing);
  assert.deepEqual([name, version, purl], ["libc.so.6", "2.41", undefined]);
  assert.match(sourceInfo, /written in the file/);
  const unknown = await libraryOrigin(NO_FILE, bytes("\0"), nothing);
  assert.equal(unknown.version, undefined);
  assert.match(unknown.sourceInfo, /tells no version/);
});

Deno.test("certificatesOrigin() names the package that the file was made from", async () => {
  const known = await certificatesOrigin(dpkg(""), "ubuntu-24.04");
  assert.equal(known.relation, "GENERATED_FROM");
  assert.match(known.purl ?? "", /^pkg:deb\/ubuntu\/ca-certificates@/);
  assert.equal((await certificatesOrigin(nothing)).version, undefined);
});

Deno.test("glibcVersion() reads the C library and its loader", () => {
  assert.equal(glibcVersion(bytes("GNU C Library (Debian GLIBC 2.36-9) version 2.36.\n")), "2.36");
  assert.equal(glibcVersion(bytes("ld.so (GNU libc) stable release version 2.36.\n")), "2.36");
  assert.equal(glibcVersion(bytes("version 2.36")), undefined);
});
