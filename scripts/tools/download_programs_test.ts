import assert from "node:assert/strict";
import { BlackHole } from "../../tests/support/peers/black_hole.ts";
import {
  archiveWith,
  ReleaseMirror,
  type Serving,
  sha256,
} from "../../tests/support/peers/release_mirror.ts";
import { freePort } from "../controlplane/free_port.ts";
import { Guard } from "../controlplane/guard.ts";
import {
  DOWNLOAD_LIMITS,
  downloadPrograms,
  type Release,
  releaseArch,
} from "./download_programs.ts";
import type { Progress } from "./progress.ts";

/** One program as it is, with a sum of its own, and one in an archive, with a file of sums. */
const RELEASES: Record<"plain" | "packed", Release> = {
  plain: { url: "https://a.example/v1/plain", sums: "https://a.example/v1/plain.sha256" },
  packed: {
    url: "https://b.example/v2/packed-amd64.tar.gz",
    sums: "https://b.example/v2/SHA256SUMS",
    member: "packed-amd64/packed",
  },
};
const PLAIN = "a.example/v1/plain";
const PACKED = "b.example/v2/packed-amd64.tar.gz";
const SUMS = "b.example/v2/SHA256SUMS";
const BIG = "x".repeat(200_000);
const LIMITS = { answerMs: 10_000, silenceMs: 10_000 };

const setUp = async () => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-download-test-" });
  await Deno.mkdir(`${dir}/target`);
  const guard = await Guard.start(`${dir}/partial`);
  const mirror = await ReleaseMirror.start();
  const archive = await archiveWith("packed-amd64/packed", "the packed program");
  mirror.put(PLAIN, BIG);
  mirror.put(`${PLAIN}.sha256`, sha256(BIG));
  mirror.put(PACKED, archive);
  mirror.put(SUMS, `${sha256("other")}  other.tar.gz\n${sha256(archive)}  packed-amd64.tar.gz\n`);
  const lines: string[] = [];
  const reports: string[] = [];
  const progress: Progress = {
    run: (label, work) => (lines.push(label), work((detail) => reports.push(detail))),
    note: (text) => lines.push(text.replaceAll(mirror.url, "MIRROR").replace(dir, "DIR")),
  };
  return {
    mirror,
    lines,
    reports,
    target: `${dir}/target`,
    download: (address = mirror.url, limits = LIMITS) =>
      downloadPrograms(
        guard,
        RELEASES,
        `${dir}/target`,
        ["plain", "packed"],
        progress,
        { XBIND_DOWNLOAD_MIRROR: address },
        limits,
      ),
    downloaded: async () =>
      (await Array.fromAsync(Deno.readDir(`${dir}/target`))).map(({ name }) => name).sort(),
    [Symbol.asyncDispose]: async () => {
      await mirror[Symbol.asyncDispose]();
      await guard[Symbol.asyncDispose]();
      await Deno.remove(dir, { recursive: true });
    },
  };
};

Deno.test("downloadPrograms() gets programs, also out of archives, and makes them executable", async () => {
  await using test = await setUp();
  await test.download(`${test.mirror.url}/`);
  assert.deepEqual(await test.downloaded(), ["packed", "plain"]);
  assert.equal(await Deno.readTextFile(`${test.target}/plain`), BIG);
  assert.equal(await Deno.readTextFile(`${test.target}/packed`), "the packed program");
  for (const name of ["plain", "packed"]) {
    const { mode } = await Deno.stat(`${test.target}/${name}`);
    assert.equal((mode ?? 0) & 0o100, 0o100, name);
  }
  assert.deepEqual(test.lines, [
    "Downloading plain, packed into DIR/target: official releases, once",
    "[1/2] plain",
    "[2/2] packed",
  ]);
  assert.ok(test.reports.includes("0.2 of 0.2 MB"), test.reports.join("; "));
});

Deno.test("downloadPrograms() leaves out a program and says why", async (t) => {
  const put = (path: string, content: string, serving?: Serving) => (mirror: ReleaseMirror) =>
    mirror.put(path, content, serving);
  const remove = (path: string) => (mirror: ReleaseMirror) => mirror.remove(path);
  const cases: [name: string, spoil: (mirror: ReleaseMirror) => void, fault: RegExp][] = [
    [
      "with a wrong sum",
      put(PLAIN, "something else"),
      new RegExp(
        `^Cannot download plain: MIRROR/${PLAIN} has the SHA-256 ${sha256("something else")} ` +
          `instead of ${sha256(BIG)}$`,
      ),
    ],
    [
      "that is cut off",
      put(PLAIN, BIG, "cut off"),
      /^Cannot download plain: MIRROR\/\S+\/plain stopped after 0\.1 of 0\.2 MB: ./,
    ],
    [
      "that is absent",
      remove(PLAIN),
      /^Cannot download plain: MIRROR\/\S+\/plain answered 404$/,
    ],
    [
      "whose sum is absent",
      remove(`${PLAIN}.sha256`),
      /^Cannot download plain: MIRROR\/\S+\/plain\.sha256 answered 404$/,
    ],
    [
      "whose sum is none",
      put(`${PLAIN}.sha256`, "<html>Log in to this network</html>"),
      /^Cannot download plain: MIRROR\/\S+\/plain\.sha256 has no SHA-256 of plain$/,
    ],
  ];
  for (const [name, spoil, fault] of cases) {
    await t.step(name, async () => {
      await using test = await setUp();
      spoil(test.mirror);
      await test.download();
      assert.deepEqual(await test.downloaded(), ["packed"]);
      const faults = test.lines.filter((line) => line.startsWith("Cannot"));
      assert.equal(faults.length, 1, faults.join("\n"));
      assert.match(faults[0] ?? "", fault);
    });
  }

  await t.step("that stalls", async () => {
    await using test = await setUp();
    test.mirror.put(PLAIN, BIG, "stalled");
    await test.download(test.mirror.url, { ...LIMITS, silenceMs: 500 });
    assert.deepEqual(await test.downloaded(), ["packed"]);
    const fault = `MIRROR/${PLAIN} stopped after 0.1 of 0.2 MB: no data came for 0.5 s`;
    assert.ok(test.lines.includes(`Cannot download plain: ${fault}`), test.lines.join("\n"));
  });

  await t.step("whose archive lacks it", async () => {
    await using test = await setUp();
    const archive = await archiveWith("packed-amd64/another", "");
    test.mirror.put(PACKED, archive);
    test.mirror.put(SUMS, `${sha256(archive)}  packed-amd64.tar.gz\n`);
    await test.download();
    assert.deepEqual(await test.downloaded(), ["plain"]);
    assert.match(test.lines.at(-1) ?? "", /packed: "tar" cannot unpack packed-amd64\/packed\n./);
  });
});

Deno.test("downloadPrograms() gives up on a silent network within 2 s for all programs", async () => {
  await using test = await setUp();
  await using hole = new BlackHole();
  const start = performance.now();
  await test.download(hole.url, DOWNLOAD_LIMITS);
  const passedMs = performance.now() - start;
  assert.ok(passedMs < 2 * DOWNLOAD_LIMITS.answerMs, `one limit after the other: ${passedMs} ms`);
  const { host } = new URL(hole.url);
  assert.deepEqual(test.lines, [
    `Cannot download plain, packed: ${host} did not answer within 2 s`,
  ]);
});

Deno.test("downloadPrograms() gives up at once if connections are refused", async () => {
  await using test = await setUp();
  const host = `127.0.0.1:${freePort()}`;
  await test.download(`http://${host}`);
  assert.equal(test.lines.length, 1);
  const [line = ""] = test.lines;
  assert.ok(line.startsWith(`Cannot download plain, packed: ${host} cannot be reached: `), line);
  assert.doesNotMatch(line, /http:/);
});

Deno.test("downloadPrograms() does nothing if XBIND_DOWNLOAD_MIRROR is off", async () => {
  await using test = await setUp();
  await test.download("off");
  assert.deepEqual(test.lines, []);
  assert.deepEqual(await test.downloaded(), []);
});

Deno.test("downloadPrograms() refuses other values of XBIND_DOWNLOAD_MIRROR without showing them", async () => {
  await using test = await setUp();
  for (
    const address of [
      "no",
      "mirror.example",
      "ftp://mirror.example",
      "https://jane:hunter2@mirror.example",
      "https://mirror.example?token=hunter2",
      "https://mirror.example/#part",
    ]
  ) {
    await assert.rejects(test.download(address), {
      message: 'Cannot use XBIND_DOWNLOAD_MIRROR: it must be "off", ' +
        "or an http or https URL without user name and query",
    }, address);
  }
});

Deno.test("releaseArch() spells the processors of Linux as releases do", () => {
  assert.equal(releaseArch({ os: "linux", arch: "x86_64" }), "amd64");
  assert.equal(releaseArch({ os: "linux", arch: "aarch64" }), "arm64");
  assert.equal(releaseArch({ os: "darwin", arch: "aarch64" }), undefined);
});
