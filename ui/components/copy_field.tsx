import { useRef, useState } from "hono/jsx/dom";
import { CheckIcon, CopyIcon } from "./icons.tsx";

/** Shows a text with a copy button, such as a command. */
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

/** Copies the text in a way that the page is allowed to; otherwise leaves it selected. */
async function copyText(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text); // absent on plain http
    return true;
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return document.execCommand("copy");
  }
}
