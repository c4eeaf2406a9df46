import type { Child } from "hono/jsx";
import { WarningIcon } from "./icons.tsx";

/** Says how severe a notice is. */
export type NoticeTone = "info" | "good" | "warning" | "danger";

/** Shows a boxed message; with a `role`, screen readers announce it. */
export function Notice(
  { tone, role, title, children }: {
    tone: NoticeTone;
    role?: "status" | "alert" | undefined;
    title?: string | undefined;
    children?: Child;
  },
) {
  return (
    <div class={`notice notice-${tone}`} role={role}>
      {tone === "warning" || tone === "danger" ? <WarningIcon /> : null}
      <div class="notice-text">
        {title ? <p class="notice-title">{title}</p> : null}
        {children}
      </div>
    </div>
  );
}
