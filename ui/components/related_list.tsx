import type { CatalogRelatedResource } from "../../common/api/wire.ts";
import { relatedSentence } from "../logic/permissions.ts";
import { FromYouIcon, ToYouIcon } from "./icons.tsx";

/** What travels along with the objects of a service, and which way. */
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
