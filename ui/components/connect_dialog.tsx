import { commands } from "../logic/commands.ts";
import { CopyField } from "./copy_field.tsx";
import { type Apply, KubeconfigForm } from "./kubeconfig_form.tsx";
import { Modal } from "./modal.tsx";
import { type Tab, Tabs } from "./tabs.tsx";

/** How a cluster gets the konnector. */
export function ConnectDialog(
  { origin, onApply, onClose }: {
    origin: string;
    /** Undefined where the provider does not offer it. */
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
          <p>Or without it:</p>
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
        The konnector runs in your cluster and keeps its objects and the provider’s the same. A
        cluster appears in the list with the first heartbeat after you bind a service.
      </p>
      <Tabs label="Ways to install the konnector" tabs={tabs} />
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Done</button>
      </div>
    </Modal>
  );
}
