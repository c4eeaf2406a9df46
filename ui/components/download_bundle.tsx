import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import type { BindResult } from "../../common/api/wire.ts";
import { commands } from "../logic/commands.ts";
import type { BindActions } from "./bind_actions.ts";
import { CopyField } from "./copy_field.tsx";
import { Notice } from "./notice.tsx";
import { saveFile } from "./save_file.ts";

/** Says whether a pickup is unused, saved or lost. */
export type PickupUse =
  | { readonly kind: "unused" }
  | { readonly kind: "saved"; readonly fileName: string }
  | { readonly kind: "lost"; readonly message: string };

/** Picks up the bundle and saves it as a file. */
export function DownloadBundle(
  { result, isOpen, use, onPickUp, onUse }: {
    result: BindResult;
    isOpen: boolean;
    use: PickupUse;
    onPickUp: BindActions["onPickUp"];
    onUse: (use: PickupUse) => void;
  },
) {
  const [isLoading, setIsLoading] = useState(false);
  const abort = useRef(new AbortController());
  useLayoutEffect(() => () => abort.current.abort(), []);
  const download = async () => {
    setIsLoading(true);
    try {
      const { fileName, yaml } = await onPickUp(result.pickupURL, abort.current.signal);
      saveFile(fileName, yaml, "application/yaml");
      onUse({ kind: "saved", fileName });
    } catch (error) {
      if (abort.current.signal.aborted) return;
      // The gateway may have spent the pickup, so never try it again.
      onUse({ kind: "lost", message: error instanceof Error ? error.message : String(error) });
    }
    setIsLoading(false);
  };
  if (use.kind === "saved") {
    return (
      <>
        <p role="status">
          Saved as{" "}
          <code dir="ltr">{use.fileName}</code>. Apply it to your cluster, then delete it: it holds
          the credential.
        </p>
        <CopyField label="the apply command" text={commands.applyFile(use.fileName)} />
      </>
    );
  }
  if (use.kind === "lost") {
    return (
      <Notice tone="danger" role="alert" title="Not downloaded">
        <p dir="auto">{use.message}</p>
      </Notice>
    );
  }
  return (
    <>
      <p>
        A file with three objects, a Secret among them. It can be downloaded once; the curl command
        needs a new bind afterwards.
      </p>
      <button
        type="button"
        class="button button-main"
        disabled={!isOpen || isLoading}
        onClick={download}
      >
        {isLoading ? "Downloading…" : "Download bundle"}
      </button>
    </>
  );
}
