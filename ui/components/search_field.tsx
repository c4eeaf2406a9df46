import { useLayoutEffect, useRef } from "hono/jsx/dom";
import { after } from "../hooks/page.ts";
import { SearchIcon } from "./icons.tsx";

/** Delays the search, so that the browser shows the typed text first. */
const PAUSE_MS = 60;

/** Shows the search of a view; `/` focuses it from anywhere on the page. */
export function SearchField(
  { label, value, onSearch }: { label: string; value: string; onSearch: (text: string) => void },
) {
  const input = useRef<HTMLInputElement | null>(null);
  const cancelSearch = useRef(() => {});
  const type = () => {
    cancelSearch.current();
    cancelSearch.current = after(PAUSE_MS, () => onSearch(input.current?.value ?? ""));
  };
  useLayoutEffect(() => () => cancelSearch.current(), []);
  useLayoutEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  // Set the value only if it came from elsewhere (Back, "Clear"), never while the user types.
  useLayoutEffect(() => {
    if (!input.current || input.current.value === value) return;
    cancelSearch.current();
    input.current.value = value;
  }, [value]);
  return (
    <div class="search">
      <SearchIcon />
      <input
        ref={input}
        type="search"
        class="input search-input"
        aria-label={label}
        aria-keyshortcuts="/"
        placeholder={label}
        spellcheck={false}
        autocomplete="off"
        dir="auto"
        maxlength={100}
        onInput={type}
      />
      <kbd class="search-key" aria-hidden="true">/</kbd>
    </div>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input, textarea, select");
