import type { BindResult } from "../../common/api/wire.ts";
import type { PickedUp } from "../api.ts";
import type { Apply } from "./kubeconfig_form.tsx";

/** What a bind asks of the gateway. */
export interface BindActions {
  readonly onBind: (name: string, signal: AbortSignal) => Promise<BindResult>;
  readonly onPickUp: (pickupUrl: string, signal: AbortSignal) => Promise<PickedUp>;
  /** Undefined where the provider does not offer it. */
  readonly onApply: Apply | undefined;
}
