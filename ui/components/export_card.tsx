import { memo } from "hono/jsx/dom";
import type { CatalogExport } from "../../common/api/wire.ts";
import type { BoundState } from "../logic/bound_exports.ts";
import { webUrl } from "../logic/web_url.ts";
import { BoundBadge } from "./bound_badge.tsx";
import { OutsideIcon } from "./icons.tsx";
import { Locked } from "./locked.tsx";
import { isPlainClick } from "./plain_click.ts";
import { RelatedList } from "./related_list.tsx";
import { ServiceIcon } from "./service_icon.tsx";

/** Limits the APIs on a card; the details show all of them. */
const SHOWN_APIS = 3;
const SHOWN_RULES = 2;

interface CardProps {
  readonly offer: CatalogExport;
  readonly bound: BoundState | undefined;
  /** Links to the details. */
  readonly href: string;
  readonly onOpen: (name: string) => void;
  readonly onBind: (name: string) => void;
}

function Card({ offer, bound, href, onOpen, onBind }: CardProps) {
  const { name, title, description, apis, relatedResources = [] } = offer;
  const docs = webUrl(offer.docs);
  const isLocked = offer.bindable === false;
  const open = (event: MouseEvent) => {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    onOpen(name);
  };
  return (
    <article class="card">
      <header class="card-head">
        <ServiceIcon title={title} url={offer.iconURL} />
        <div class="card-names">
          <h3 class="card-title" dir="auto">
            <a class="card-link" href={href} onClick={open}>{title}</a>
          </h3>
          <p class="card-name" dir="ltr">{name}</p>
        </div>
        {bound ? <BoundBadge state={bound} /> : null}
      </header>
      {description ? <p class="card-text" dir="auto">{description}</p> : null}
      <ul class="apis" role="list" aria-label="APIs">
        {apis.slice(0, SHOWN_APIS).map((api) => (
          <li key={api}>
            <code dir="ltr">{api}</code>
          </li>
        ))}
        {apis.length > SHOWN_APIS ? <li class="muted">+{apis.length - SHOWN_APIS} more</li> : null}
      </ul>
      {relatedResources.length > 0
        ? <RelatedList rules={relatedResources.slice(0, SHOWN_RULES)} />
        : null}
      <footer class="card-foot">
        {isLocked ? <Locked name={name} title={title} docs={docs} /> : (
          <button
            type="button"
            class={bound ? "button" : "button button-main"}
            aria-label={bound ? `Bind again: ${title}` : `Bind ${title}`}
            onClick={() => onBind(name)}
          >
            {bound ? "Bind again" : "Bind"}
          </button>
        )}
        {docs && !isLocked
          ? (
            <a
              class="outside"
              href={docs}
              target="_blank"
              rel="noopener noreferrer"
              aria-label={`Docs of ${title}`}
            >
              Docs <OutsideIcon />
            </a>
          )
          : null}
      </footer>
    </article>
  );
}

/** Shows a service in the catalog; renders again only when its props change. */
export const ExportCard = memo(Card);
