import { grantName, identityHash } from "../../common/api/names.ts";

const HASH_LENGTH = identityHash("").length;

/** Whether a name is that of the Grant of this Export for somebody, whoever that is. */
export function isGrantOf(exportName: string, name: string): boolean {
  const stem = grantName(exportName, "").slice(0, -HASH_LENGTH);
  const hash = name.slice(-HASH_LENGTH);
  return name === stem + hash && /^[0-9a-f]+$/.test(hash) && hash.length === HASH_LENGTH;
}
