import type { BindResult } from "../../common/api/wire.ts";
import type { PickedUp } from "../api.ts";
import type { Apply } from "./kubeconfig_form.tsx";

/** Lists the requests that a bind sends to the gateway. */
export interface BindActions {
  readonly onBind: (name: string, signal: AbortSignal) => Promise<BindResult>;
  readonly onPickUp: (pickupUrl: string, signal: AbortSignal) => Promise<PickedUp>;
  /** Undefined if the provider does not offer apply. */
  readonly onApply: Apply | undefined;
}
