import type { Export } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";

/** Describes a kind whose objects on the provider are all open to every consumer of an Export. */
export interface Opening {
  readonly kind: "Secrets" | "ConfigMaps";
  /** Says what issued credentials can do with the kind, and how to prevent it. */
  readonly warning: string;
}

const REMEDY = "use --issuer-scope=Namespace";

/** Returns the kinds that this Export opens to every consumer, each at most once. */
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
