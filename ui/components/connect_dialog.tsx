import { commands } from "../logic/commands.ts";
import { CopyField } from "./copy_field.tsx";
import { type Apply, KubeconfigForm } from "./kubeconfig_form.tsx";
import { Modal } from "./modal.tsx";
import { type Tab, Tabs } from "./tabs.tsx";

/** Shows the ways to install the konnector in a cluster. */
export function ConnectDialog(
  { origin, onApply, onClose }: {
    origin: string;
    /** Undefined if the provider does not offer apply. */
    onApply: Apply | undefined;
    onClose: () => void;
  },
) {
  const tabs: Tab[] = [
    {
      key: "command",
      label: "Command",
      content: (
        <>
          <p>With the kubectl plugin, in the context of your cluster:</p>
          <CopyField label="the kubectl command" text={commands.connect(origin)} />
          <p>Or without the plugin:</p>
          <CopyField label="the curl command" text={commands.installKonnector(origin)} />
        </>
      ),
    },
    {
      key: "download",
      label: "Download",
      content: (
        <>
          <p>A manifest without credentials, to read, keep or change:</p>
          <a class="button button-main" href="/api/konnector" download="konnector.yaml">
            Download konnector.yaml
          </a>
          <CopyField
            label="the apply command"
            text={commands.installKonnectorFile("konnector.yaml")}
          />
        </>
      ),
    },
  ];
  if (onApply) {
    tabs.push({ key: "apply", label: "Apply", content: <KubeconfigForm onApply={onApply} /> });
  }
  return (
    <Modal title="Connect a cluster" onClose={onClose}>
      <p>
        The konnector runs in your cluster and syncs its objects with the provider’s. A cluster
        appears in the list with the first heartbeat after you bind a service.
      </p>
      <Tabs label="Ways to install the konnector" tabs={tabs} />
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Done</button>
      </div>
    </Modal>
  );
}
