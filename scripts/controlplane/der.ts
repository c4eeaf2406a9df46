/** One encoded ASN.1 value, tag and length included. */
export type Der = Uint8Array<ArrayBuffer>;

const joined = (parts: Uint8Array[]): Der => {
  const out = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
};

const lengthOctets = (length: number): Uint8Array => {
  if (length < 0x80) return Uint8Array.of(length);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Uint8Array.of(0x80 | octets.length, ...octets);
};

/** Any value from its tag octet and contents. */
export const tagged = (tag: number, ...contents: Uint8Array[]): Der => {
  const body = joined(contents);
  return joined([Uint8Array.of(tag), lengthOctets(body.length), body]);
};

/** SEQUENCE of the given values. */
export const sequence = (...items: Uint8Array[]): Der => tagged(0x30, ...items);

/** SET of the given values; the caller gives them in DER order. */
export const set = (...items: Uint8Array[]): Der => tagged(0x31, ...items);

/** Context-specific constructed value, as EXPLICIT tagging makes it. */
export const explicit = (number: number, ...items: Uint8Array[]): Der =>
  tagged(0xa0 | number, ...items);

/** Context-specific primitive value, as IMPLICIT tagging of a string makes it. */
export const implicit = (number: number, octets: Uint8Array): Der => tagged(0x80 | number, octets);

/** BOOLEAN TRUE; FALSE is only ever a default, which DER leaves out. */
export const TRUE: Der = tagged(0x01, Uint8Array.of(0xff));

/** Non-negative INTEGER from its big-endian octets, in the shortest form. */
export const integer = (octets: Uint8Array): Der => {
  const first = octets.findIndex((octet) => octet !== 0);
  const significant = first === -1 ? Uint8Array.of(0) : octets.subarray(first);
  // A leading one bit would make it negative.
  const sign = (significant[0] ?? 0) & 0x80 ? Uint8Array.of(0) : new Uint8Array();
  return tagged(0x02, sign, significant);
};

/** BIT STRING of whole octets, or with the given number of unused bits at its end. */
export const bitString = (octets: Uint8Array, unusedBits = 0): Der =>
  tagged(0x03, Uint8Array.of(unusedBits), octets);

/** OCTET STRING. */
export const octetString = (octets: Uint8Array): Der => tagged(0x04, octets);

/** UTF8String. */
export const utf8String = (text: string): Der => tagged(0x0c, new TextEncoder().encode(text));

/** OBJECT IDENTIFIER from its dotted form. */
export const objectIdentifier = (dotted: string): Der => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const octets = [first * 40 + second, ...rest].flatMap((arc) => {
    const groups = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      groups.unshift((left % 128) | 0x80);
    }
    return groups;
  });
  return tagged(0x06, Uint8Array.from(octets));
};

/** Time as X.509 wants it: UTCTime until 2049, GeneralizedTime from 2050, whole seconds. */
export const time = (date: Date): Der => {
  const digits = date.toISOString().replace(/\.\d+Z$/, "").replaceAll(/\D/g, "");
  const text = (short: string) => new TextEncoder().encode(`${short}Z`);
  return date.getUTCFullYear() < 2050
    ? tagged(0x17, text(digits.slice(2)))
    : tagged(0x18, text(digits));
};

/** PEM text of DER octets. */
export const pem = (label: string, der: Uint8Array): string => {
  const base64 = btoa(String.fromCharCode(...der));
  const lines = base64.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
};
