import type { CatalogCollection, CatalogExport, Instances } from "../../common/api/wire.ts";
import type { BoundState } from "../logic/bound_exports.ts";
import { webUrl } from "../logic/web_url.ts";
import { BoundBadge } from "./bound_badge.tsx";
import { OutsideIcon } from "./icons.tsx";
import { Locked } from "./locked.tsx";
import { InstanceTable } from "./instance_table.tsx";
import { Modal } from "./modal.tsx";
import { RelatedList } from "./related_list.tsx";
import { ServiceIcon } from "./service_icon.tsx";

/** Shows all details of one service. */
export function ExportDetails(
  { offer, collections, bound, user, onReadInstances, onBind, onClose }: {
    offer: CatalogExport;
    collections: readonly CatalogCollection[];
    bound: BoundState | undefined;
    /** The name by which the provider's RBAC knows the user. */
    user: string | undefined;
    onReadInstances: (name: string, signal: AbortSignal) => Promise<Instances>;
    onBind: (name: string) => void;
    onClose: () => void;
  },
) {
  const { name, title, description, apis, relatedResources = [] } = offer;
  const docs = webUrl(offer.docs);
  const isLocked = offer.bindable === false;
  const within = collections.filter(({ exports }) => exports.includes(name));
  return (
    <Modal title={title} look="panel" onClose={onClose}>
      <div class="details-head">
        <ServiceIcon title={title} url={offer.iconURL} />
        <p class="mono muted" dir="ltr">{name}</p>
        {bound ? <BoundBadge state={bound} /> : null}
      </div>
      {description ? <p class="details-text" dir="auto">{description}</p> : null}
      <div class="actions">
        {isLocked
          ? <Locked name={name} title={title} user={user} docs={docs} />
          : (
            <button type="button" class="button button-main" onClick={() => onBind(name)}>
              {bound ? "Bind again" : "Bind"}
            </button>
          )}
        {docs && !isLocked
          ? (
            <a class="outside" href={docs} target="_blank" rel="noopener noreferrer">
              Documentation <OutsideIcon />
            </a>
          )
          : null}
      </div>
      <section class="details-part">
        <h3>APIs</h3>
        <ul class="apis" role="list">
          {apis.map((api) => (
            <li key={api}>
              <code dir="ltr">{api}</code>
            </li>
          ))}
        </ul>
      </section>
      {relatedResources.length > 0
        ? (
          <section class="details-part">
            <h3>Related resources</h3>
            <RelatedList rules={relatedResources} />
          </section>
        )
        : null}
      {within.length > 0
        ? (
          <section class="details-part">
            <h3>Collections</h3>
            <p dir="auto">{within.map((each) => each.title).join(", ")}</p>
          </section>
        )
        : null}
      <section class="details-part">
        <h3>Instances</h3>
        <InstanceTable name={name} onRead={onReadInstances} />
      </section>
    </Modal>
  );
}
