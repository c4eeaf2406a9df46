import type { Child } from "hono/jsx";
import { useId, useLayoutEffect, useRef } from "hono/jsx/dom";
import { CloseIcon } from "./icons.tsx";

/** A dialog over the page: focus stays inside, Esc closes, and focus returns to where it was. */
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
    queueMicrotask(open); // with the first drawing of the page it is not in the document before
    const cancel = (event: Event) => {
      if (event.target !== element) return; // a file chooser inside can be cancelled too
      event.preventDefault(); // our state decides, so that the address follows
      close.current();
    };
    const outside = (event: MouseEvent) => {
      if (look === "panel" && event.target === element) close.current();
    };
    element.addEventListener("cancel", cancel);
    element.addEventListener("click", outside);
    return () => element.close(); // gives the focus back, while the element is still there
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
