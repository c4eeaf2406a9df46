import type { CatalogRelatedResource } from "../../common/api/wire.ts";
import { relatedSentence } from "../logic/permissions.ts";
import { FromYouIcon, ToYouIcon } from "./icons.tsx";

/** Lists the related resources of a service, and the direction in which they are copied. */
export function RelatedList({ rules }: { rules: readonly CatalogRelatedResource[] }) {
  return (
    <ul class="related" role="list">
      {rules.map((rule, index) => (
        <li key={String(index)}>
          {rule.direction === "FromConsumer" ? <FromYouIcon /> : <ToYouIcon />}
          <span dir="auto">{relatedSentence(rule)}</span>
        </li>
      ))}
    </ul>
  );
}
