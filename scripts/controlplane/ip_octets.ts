import { isIPv4, isIPv6 } from "node:net";

const ipv4 = (text: string): number[] => text.split(".").map(Number);

const ipv6Groups = (text: string): number[] => {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return ipv4(group);
    const value = parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
};

/** The 4 or 16 octets of an IP address, or undefined when the text is not one. */
export const ipOctets = (text: string): Uint8Array | undefined => {
  if (isIPv4(text)) return Uint8Array.from(ipv4(text));
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const [head = "", tail] = text.split("::");
  const before = ipv6Groups(head);
  const after = ipv6Groups(tail ?? "");
  return Uint8Array.from([
    ...before,
    ...new Array<number>(16 - before.length - after.length).fill(0),
    ...after,
  ]);
};
