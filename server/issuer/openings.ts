import type { Export } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";

/** A kind of the provider that an Export opens to all its consumers, far beyond their own objects. */
export interface Opening {
  readonly kind: "Secrets" | "ConfigMaps";
  /** What issued credentials can do with it, and what helps. */
  readonly warning: string;
}

const REMEDY = "use --issuer-scope=Namespace";

/** What every consumer of this Export will be able to do that is too much: at most one per kind. */
export function openingsOf(
  { spec }: Pick<Export, "spec">,
  { issuerScope }: Pick<Config, "issuerScope">,
): Opening[] {
  if (issuerScope !== "Cluster") return [];
  const rules = spec.defaults?.relatedResources ?? [];
  const opens = (resource: string, direction: string) =>
    rules.some((rule) => rule.resource === resource && rule.direction === direction);
  const openings: Opening[] = [];
  if (opens("secrets", "FromConsumer")) {
    const can = "Issued credentials can write every Secret of the provider, and so take it over";
    openings.push({ kind: "Secrets", warning: `${can}: ${REMEDY}` });
  } else if (opens("secrets", "FromProvider")) {
    const can =
      "Issued credentials can read every Secret of the provider, whatever the selector says";
    openings.push({ kind: "Secrets", warning: `${can}: ${REMEDY}` });
  }
  if (opens("configmaps", "FromConsumer")) {
    const can = "Issued credentials can write every ConfigMap of the provider, also those that " +
      "give rights, such as kube-system/aws-auth";
    openings.push({ kind: "ConfigMaps", warning: `${can}: ${REMEDY}` });
  }
  return openings;
}
