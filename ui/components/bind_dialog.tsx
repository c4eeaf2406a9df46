import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import type { BindResult, CatalogExport } from "../../common/api/wire.ts";
import type { BindActions } from "./bind_actions.ts";
import { FinishBind } from "./finish_bind.tsx";
import { Modal } from "./modal.tsx";
import { Notice } from "./notice.tsx";
import { PermissionList } from "./permission_list.tsx";
import { StepHeading } from "./step_heading.tsx";

type Phase =
  | { readonly kind: "review" }
  | { readonly kind: "binding" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "bound"; readonly result: BindResult };

/** Shows the rights of the credential, binds the Export, then offers ways to use the credential. */
export function BindDialog(
  { offer, origin, actions, onChanged, onClose }: {
    offer: CatalogExport;
    /** Is the gateway's origin, for commands. */
    origin: string;
    actions: BindActions;
    /** Is called after a change that the inventories will show. */
    onChanged: () => void;
    onClose: () => void;
  },
) {
  const [phase, setPhase] = useState<Phase>({ kind: "review" });
  const abort = useRef<AbortController | null>(null);
  useLayoutEffect(() => () => abort.current?.abort(), []);
  const bind = async () => {
    setPhase({ kind: "binding" });
    const { signal } = abort.current = new AbortController();
    try {
      setPhase({ kind: "bound", result: await actions.onBind(offer.name, signal) });
      onChanged();
    } catch (error) {
      if (signal.aborted) return;
      setPhase({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <Modal title={`Bind ${offer.title}`} onClose={onClose}>
      {phase.kind === "review"
        ? <Review key="review" offer={offer} onBind={bind} onClose={onClose} />
        : null}
      {phase.kind === "binding" ? <Binding key="binding" onClose={onClose} /> : null}
      {phase.kind === "failed"
        ? <Failed key="failed" message={phase.message} onRetry={bind} onClose={onClose} />
        : null}
      {phase.kind === "bound"
        ? (
          <FinishBind
            key={phase.result.pickupURL}
            offer={offer}
            origin={origin}
            result={phase.result}
            actions={actions}
            onBindAgain={bind}
            onChanged={onChanged}
            onClose={onClose}
          />
        )
        : null}
    </Modal>
  );
}

function Review(
  { offer, onBind, onClose }: { offer: CatalogExport; onBind: () => void; onClose: () => void },
) {
  return (
    <section>
      <p>
        You get a credential for the provider’s cluster, which the konnector in your cluster uses.
        It works until the provider revokes it; signing out does not end it.
      </p>
      <h3>What the credential will be allowed to do</h3>
      <PermissionList offer={offer} />
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Cancel</button>
        <button type="button" class="button button-main" onClick={onBind}>
          Bind
        </button>
      </div>
    </section>
  );
}

function Binding({ onClose }: { onClose: () => void }) {
  return (
    <section>
      <StepHeading>Preparing your credential</StepHeading>
      <div role="status">
        <progress class="progress" aria-label="Preparing your credential" />
        <p class="muted">
          This usually takes a second, and half a minute at most.
        </p>
      </div>
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Cancel</button>
      </div>
    </section>
  );
}

function Failed(
  { message, onRetry, onClose }: { message: string; onRetry: () => void; onClose: () => void },
) {
  return (
    <section>
      <StepHeading>Not bound</StepHeading>
      <Notice tone="danger" role="alert">
        <p dir="auto">{message}</p>
      </Notice>
      <p class="muted">
        Trying again is safe: you never get a second Grant for one service.
      </p>
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Close</button>
        <button type="button" class="button button-main" onClick={onRetry}>
          Try again
        </button>
      </div>
    </section>
  );
}
