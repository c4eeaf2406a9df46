import { useRef, useState } from "hono/jsx/dom";
import { CheckIcon, CopyIcon } from "./icons.tsx";

/** A text to copy as a whole, such as a command. */
export function CopyField({ text, label }: { text: string; label: string }) {
  const code = useRef<HTMLElement | null>(null);
  const [copied, setCopied] = useState("");
  const copy = async () => {
    setCopied(await copyText(text, code.current) ? "Copied" : "Press Ctrl+C to copy");
  };
  return (
    <div class="copy">
      <code ref={code} class="copy-text" dir="ltr">{text}</code>
      <button type="button" class="button" aria-label={`Copy ${label}`} onClick={copy}>
        {copied === "Copied" ? <CheckIcon key="done" /> : <CopyIcon key="copy" />}
        Copy
      </button>
      <span role="status" class="copy-hint">{copied}</span>
    </div>
  );
}

/** Copies by whatever way the page is allowed; leaves the text selected when there is none. */
async function copyText(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text); // absent on plain http
    return true;
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return document.execCommand("copy");
  }
}
