import type { Catalog, Instances } from "../../common/api/wire.ts";
import type { BindActions } from "../components/bind_actions.ts";
import { BindDialog } from "../components/bind_dialog.tsx";
import { ConnectDialog } from "../components/connect_dialog.tsx";
import { ExportDetails } from "../components/export_details.tsx";
import { Modal } from "../components/modal.tsx";
import type { BoundState } from "../logic/bound_exports.ts";
import type { Overlay } from "../logic/place.ts";

/** Shows the dialog of the current place, if it has one. */
export function OverlayView(
  {
    overlay,
    catalog,
    bound,
    user,
    origin,
    actions,
    onReadInstances,
    onSwitchToBind,
    onChanged,
    onClose,
  }: {
    overlay: Overlay | undefined;
    catalog: Catalog | undefined;
    bound: ReadonlyMap<string, BoundState>;
    /** The name by which the provider's RBAC knows the user. */
    user: string | undefined;
    origin: string;
    actions: BindActions;
    onReadInstances: (name: string, signal: AbortSignal) => Promise<Instances>;
    onSwitchToBind: (name: string) => void;
    onChanged: () => void;
    onClose: () => void;
  },
) {
  if (!overlay) return null;
  if (overlay.kind === "connect") {
    return <ConnectDialog origin={origin} onApply={actions.onApply} onClose={onClose} />;
  }
  if (!catalog) return null; // the view below shows the loading state
  const offer = catalog.exports.find(({ name }) => name === overlay.export);
  if (!offer) return <NotOffered name={overlay.export} onClose={onClose} />;
  const isLocked = offer.bindable === false; // a link can lead to the dialog all the same
  return overlay.kind === "details" || isLocked
    ? (
      <ExportDetails
        key={`details/${offer.name}`}
        offer={offer}
        collections={catalog.collections ?? []}
        bound={bound.get(offer.name)}
        user={user}
        onReadInstances={onReadInstances}
        onBind={onSwitchToBind}
        onClose={onClose}
      />
    )
    : (
      <BindDialog
        key={`bind/${offer.name}`}
        offer={offer}
        origin={origin}
        actions={actions}
        onChanged={onChanged}
        onClose={onClose}
      />
    );
}

function NotOffered({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <Modal title="Not in the catalog" onClose={onClose}>
      <p>
        There is no service <code dir="ltr">{name}</code>{" "}
        now. Its provider may have taken it back, or it is not Ready at the moment.
      </p>
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Close</button>
      </div>
    </Modal>
  );
}
