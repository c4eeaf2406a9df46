import type { Child } from "hono/jsx";
import { useId, useLayoutEffect, useRef } from "hono/jsx/dom";
import { CloseIcon } from "./icons.tsx";

/** Shows a dialog that keeps the focus inside, closes on Esc, and then restores the focus. */
export function Modal(
  { title, look = "dialog", onClose, children }: {
    title: string;
    look?: "dialog" | "panel";
    onClose: () => void;
    children?: Child;
  },
) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  const titleId = useId();
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element) return;
    const open = () => {
      if (element.isConnected && !element.open) element.showModal();
    };
    open();
    queueMicrotask(open); // at the first render, the element is not in the document yet
    const cancel = (event: Event) => {
      if (event.target !== element) return; // the event may come from a file chooser inside
      event.preventDefault(); // onClose() closes the dialog and updates the URL
      close.current();
    };
    const outside = (event: MouseEvent) => {
      if (look === "panel" && event.target === element) close.current();
    };
    element.addEventListener("cancel", cancel);
    element.addEventListener("click", outside);
    return () => element.close(); // restores the focus while the element still exists
  }, []);
  return (
    <dialog ref={dialog} class={`modal modal-${look}`} aria-labelledby={titleId}>
      <div class="modal-frame">
        <header class="modal-head">
          <h2
            id={titleId}
            class="modal-title"
            tabindex={-1}
            autofocus
            dir="auto"
          >
            {title}
          </h2>
          <button
            type="button"
            class="button button-quiet button-icon"
            aria-label="Close"
            onClick={onClose}
          >
            <CloseIcon />
          </button>
        </header>
        <div class="modal-body">{children}</div>
      </div>
    </dialog>
  );
}
