import { isDeleting } from "../../common/api/resources.ts";
import { isReservedGroup, LABELS, parseApiName } from "../../common/api/names.ts";
import type { IssuerCaches } from "./issued_caches.ts";

/** Whether an API may be exported now: its CRD is there, labelled, and not one of ours. */
export function isExported({ crds }: Pick<IssuerCaches, "crds">, api: string): boolean {
  const parsed = parseApiName(api);
  if (!parsed || isReservedGroup(parsed.group)) return false;
  const crd = crds.get({ name: api });
  return crd !== undefined && !isDeleting(crd) && crd.metadata.labels?.[LABELS.exported] === "true";
}
