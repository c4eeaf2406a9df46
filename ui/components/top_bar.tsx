import type { Identity, ProviderInfo } from "../../common/api/wire.ts";
import type { ViewName } from "../logic/place.ts";
import { BrandMark } from "./icons.tsx";
import { isPlainClick } from "./plain_click.ts";

const VIEWS: readonly { readonly view: ViewName; readonly label: string }[] = [
  { view: "catalog", label: "Catalog" },
  { view: "clusters", label: "Clusters" },
];

/** Shows the provider, the navigation and the signed-in user. */
export function TopBar(
  { provider, me, view, onSkip, onGo, onSignOut }: {
    provider: ProviderInfo | undefined;
    me: Identity | undefined;
    view: ViewName;
    onSkip: () => void;
    onGo: (view: ViewName) => void;
    onSignOut: () => void;
  },
) {
  return (
    <header class="top">
      <a
        class="skip"
        href="#/"
        onClick={(event: Event) => {
          event.preventDefault(); // the fragment is reserved for the place
          onSkip();
        }}
      >
        Skip to content
      </a>
      <div class="top-inner">
        <p class="brand">
          <BrandMark />
          <span class="brand-name" dir="auto">{provider?.name ?? ""}</span>
        </p>
        <nav class="views" aria-label="Views">
          {VIEWS.map(({ view: each, label }) => (
            <a
              key={each}
              href={`#/${each}`}
              aria-current={each === view ? "page" : undefined}
              onClick={(event: MouseEvent) => {
                if (!isPlainClick(event)) return;
                event.preventDefault();
                onGo(each);
              }}
            >
              {label}
            </a>
          ))}
        </nav>
        <div class="account">
          <span class="who" title={me?.subject} dir="auto">
            {me?.displayName ?? me?.subject}
          </span>
          <button type="button" class="button button-quiet" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  );
}
