import type { Child } from "hono/jsx";
import { useId, useState } from "hono/jsx/dom";

/** Holds the label and the content of one tab. */
export interface Tab {
  readonly key: string;
  readonly label: string;
  readonly content: Child;
}

/** Shows one of several panels; arrow keys move between their tabs. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [chosen, setChosen] = useState(tabs[0]?.key ?? "");
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ key }) => key === chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    const next = to === undefined ? undefined : tabs.at(to % tabs.length);
    if (!next) return;
    event.preventDefault();
    setChosen(next.key);
    document.getElementById(`${id}tab-${next.key}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" class="tab-list" aria-label={label} onKeyDown={move}>
        {tabs.map(({ key, label }) => (
          <button
            key={key}
            type="button"
            role="tab"
            id={`${id}tab-${key}`}
            aria-controls={`${id}panel-${key}`}
            aria-selected={key === chosen ? "true" : "false"}
            tabindex={key === chosen ? 0 : -1}
            onClick={() => setChosen(key)}
          >
            {label}
          </button>
        ))}
      </div>
      {tabs.map(({ key, content }) => (
        <div
          key={key}
          role="tabpanel"
          id={`${id}panel-${key}`}
          aria-labelledby={`${id}tab-${key}`}
          class="tab-panel"
          hidden={key !== chosen}
        >
          {content}
        </div>
      ))}
    </div>
  );
}
