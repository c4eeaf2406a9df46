import type { Child } from "hono/jsx";
import { WarningIcon } from "./icons.tsx";

/** How much a notice matters. */
export type NoticeTone = "info" | "good" | "warning" | "danger";

/** A boxed remark; `role` makes it heard when it appears. */
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
