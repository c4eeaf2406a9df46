import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { HttpAnswer } from "./answer.ts";

/** Parses an answer that comes in these pieces, with or without the end of the connection. */
function taken(pieces: readonly Buffer[], { ends = false } = {}) {
  let body = "";
  const answer = new HttpAnswer(() => (part) => void (body += part.toString("latin1")));
  for (const piece of pieces) answer.take(piece);
  if (ends) answer.end();
  const { head, isComplete, leavesOpen } = answer;
  return { head, body, isComplete, leavesOpen };
}

const said = (text: string): Buffer => Buffer.from(text, "latin1");
const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const HINTS = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n";

/** Splits the text in two ways: not at all, and after every byte. */
const splits = (text: string) => [[said(text)], [...said(text)].map((byte) => Buffer.of(byte))];

const COMPLETE: Record<string, [said: string, body: string, leavesOpen: boolean]> = {
  "a length": [`${OK}Content-Length: 4\r\n\r\nfine`, "fine", true],
  "no body": [`${OK}Content-Length: 0\r\n\r\n`, "", true],
  "no content": ["HTTP/1.1 204 No Content\r\n\r\n", "", true],
  "not modified, with a length": ["HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", "", true],
  "no reason": ["HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "x", true],
  "chunks": [`${CHUNKED}2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n`, "fine", true],
  "chunks that say more": [
    `${OK}Transfer-Encoding: Chunked\r\n\r\nA;a=b\r\n0123456789\r\n0\r\nX: y\r\n\r\n`,
    "0123456789",
    true,
  ],
  "line ends in a chunk": [`${CHUNKED}4\r\n\r\n\r\n\r\n0\r\n\r\n`, "\r\n\r\n", true],
  "a connection that closes": [`${OK}connection: Close\r\ncontent-length: 1\r\n\r\nx`, "x", false],
  "an old server": ["HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", false],
  "hints before": [`${HINTS}${OK}Content-Length: 1\r\n\r\nx`, "x", true],
  "more than was asked for": [`${OK}Content-Length: 1\r\n\r\nxHTTP/1.1 200`, "x", false],
};

for (const [what, [text, body, leavesOpen]] of Object.entries(COMPLETE)) {
  Deno.test(`HttpAnswer takes ${what}, at once and byte by byte`, () => {
    for (const pieces of splits(text)) {
      const { head: _, ...answer } = taken(pieces);
      assert.deepEqual(answer, { body, isComplete: true, leavesOpen });
    }
  });
}

Deno.test("HttpAnswer joins headers of one name, and trims them", () => {
  const text = `${OK}A: 1\r\nB:  x y\t\r\na:2\r\nC:\r\nBB: 3\r\nContent-Length: 0\r\n\r\n`;
  const { head } = taken([said(text)]);
  const values = ["a", "b", "c", "d", "content-length"].map((name) => head.header(name));
  assert.deepEqual(values, ["1, 2", "x y", "", undefined, "0"]);
  assert.equal(head.status, 200);
});

Deno.test("HttpAnswer without a length ends with its connection, and with nothing else", () => {
  const text = said(`${OK}\r\nfine`);
  assert.equal(taken([text]).isComplete, false);
  const answer = taken([text], { ends: true });
  assert.deepEqual([answer.body, answer.isComplete, answer.leavesOpen], ["fine", true, false]);
  const halves = [
    `${OK}Content-Length: 5\r\n\r\nfine`,
    `${CHUNKED}4\r\nfine\r\n`,
    `${OK}Content-Le`,
  ];
  for (const half of [...halves, "HTTP/1.1 100 Continue\r\n\r\n", ""]) {
    assert.equal(taken([said(half)], { ends: true }).isComplete, false, half);
  }
});

const WRONG: Record<string, [said: string, message: RegExp]> = {
  "no HTTP": ["220 mail.example ESMTP\r\n\r\n", /not HTTP/],
  "HTTP/2": ["HTTP/2.0 200 OK\r\n\r\n", /not HTTP/],
  "a status of two digits": ["HTTP/1.1 20 OK\r\n\r\n", /not HTTP/],
  "a status of four digits": ["HTTP/1.1 2000\r\n\r\n", /not HTTP/],
  "a header without a colon": [`${OK}Content-Length\r\n\r\n`, /not HTTP/],
  "a header without a name": [`${OK}: x\r\n\r\n`, /not HTTP/],
  "a space before the colon": [`${OK}Content-Length : 1\r\n\r\n`, /not HTTP/],
  "a folded header": [`${OK}A: b\r\n c\r\n\r\n`, /not HTTP/],
  "a bare line feed": [`${OK}A: b\nContent-Length: 1\r\n\r\n`, /not HTTP/],
  "a bare carriage return": [`${OK}A: b\rContent-Length: 1\r\n\r\n`, /not HTTP/],
  "a zero byte": [`${OK}A: \0\r\n\r\n`, /not HTTP/],
  "two lengths": [`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, /how long/],
  "a negative length": [`${OK}Content-Length: -1\r\n\r\n`, /how long/],
  "a length in hex": [`${OK}Content-Length: 0x1\r\n\r\n`, /how long/],
  "an absurd length": [`${OK}Content-Length: ${"9".repeat(30)}\r\n\r\n`, /how long/],
  "a length and chunks": [
    `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    /how long/,
  ],
  "another coding": [`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, /how long/],
  "a chunk without a size": [`${CHUNKED}\r\n`, /how long/],
  "a chunk size of nine digits": [`${CHUNKED}100000000\r\n`, /how long/],
  "a chunk size that goes on": [`${CHUNKED}${"0".repeat(300)}`, /chunk size of more than/],
  "a chunk that is longer": [`${CHUNKED}1\r\nxyz`, /broken chunk/],
  "endless lines after the last chunk": [
    `${CHUNKED}0\r\n${"a: b\r\n".repeat(20)}`,
    /lines after its end/,
  ],
  "a head without end": [`${OK}${"A: b\r\n".repeat(4_000)}`, /head of the answer is larger/],
  "a large head": [`${OK}${"A: b\r\n".repeat(4_000)}\r\n`, /head of the answer is larger/],
  "hints without end": ["HTTP/1.1 103 Hints\r\n\r\n".repeat(20), /only announces/],
  "another protocol": ["HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", /changed the protocol/],
};

for (const [what, [text, message]] of Object.entries(WRONG)) {
  Deno.test(`HttpAnswer refuses ${what}, at once and byte by byte`, () => {
    for (const pieces of splits(text)) assert.throws(() => taken(pieces), message);
  });
}

Deno.test("HttpAnswer passes on nothing after it is stopped", () => {
  const parts: string[] = [];
  const answer: HttpAnswer = new HttpAnswer(() => (part) => {
    parts.push(part.toString());
    answer.stop();
  });
  answer.take(said(`${CHUNKED}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`));
  assert.deepEqual(parts, ["a"]);
});

const chunk = (part: Uint8Array) => [said(`${part.length.toString(16)}\r\n`), part, said("\r\n")];

Deno.test("HttpAnswer is the same however the bytes are split", () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 5 });
  const places = fc.array(fc.nat(2_000), { maxLength: 20 });
  fc.assert(fc.property(bodies, fc.boolean(), places, (parts, isChunked, cuts) => {
    const body = Buffer.concat(parts);
    const framed = isChunked
      ? Buffer.concat([said(CHUNKED), ...parts.flatMap(chunk), said("0\r\n\r\n")])
      : Buffer.concat([said(`${OK}Content-Length: ${body.length}\r\n\r\n`), body]);
    const inside = cuts.filter((cut) => cut < framed.length);
    const ends = [...inside, framed.length].sort((a, b) => a - b);
    const answer = taken(ends.map((end, i) => framed.subarray(ends[i - 1] ?? 0, end)));
    assert.equal(answer.body, body.toString("latin1"));
    assert.deepEqual([answer.isComplete, answer.leavesOpen], [true, true]);
  }));
});

Deno.test("HttpAnswer accepts any bytes or says what is wrong with them", () => {
  const line = fc.oneof(
    fc.constantFrom("Content-Length: 3", "Transfer-Encoding: chunked", "a", "", "3", "0", "zzz"),
    fc.string({ maxLength: 20, unit: "binary" }),
  );
  fc.assert(fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (lines, isHttp) => {
    const text = (isHttp ? OK : "") + lines.join("\r\n");
    try {
      taken([said(text)], { ends: true });
    } catch (error) {
      assert.match((error as Error).message, /^the (answer|server|head) /);
    }
  }));
});
